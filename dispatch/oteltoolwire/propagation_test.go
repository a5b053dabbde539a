package oteltoolwire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/oteltoolwire"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

const (
	parentTrace = "0af7651916cd43dd8448eb211c80319c"
	parentSpan  = "b7ad6b7169203331"
	traceparent = "00-" + parentTrace + "-" + parentSpan + "-01"
)

func oneCall(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	ctx = baggage.ContextWithBaggage(ctx, must(baggage.Parse("customer="+content)))
	_, err := run.Proxy.Do(ctx, "get_order", nil)
	return &dispatch.Response{FinalResponse: "done"}, err
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// post sends a dispatch with a traceparent to a handler whose proxy is in memory, in the context of
// a span if there is one. It returns the headers of the request to the proxy.
func post(t *testing.T, ctx context.Context, opts *dispatch.Options, change func(*http.Request)) (sent []http.Header) {
	t.Helper()
	opts.Proxy.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Header)
		return nil, errors.New("no network")
	})
	h, err := dispatch.New(oneCall, opts)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(
		`{"run_id":7,"input":{"user_instruction":"x"},"odyssey_proxy_url":"https://proxy.example.com/runs/7",`+
			`"run_token":"run-token"}`))
	r.Header.Set("Authorization", "Bearer "+agentToken)
	r.Header.Set("Traceparent", traceparent)
	r.Header.Set("Baggage", "customer="+content)
	change(r)
	h.ServeHTTP(httptest.NewRecorder(), r)
	return sent
}

func unchanged(*http.Request) {}

// The trace of the incoming header goes on in the run, in its requests to the proxy, and in their
// header. Baggage is neither read nor sent.
func TestTraceContext(t *testing.T) {
	c := newCollector()
	sent := post(t, t.Context(), options(c.telemetry(t, oteltoolwire.Options{})), unchanged)
	var attempt trace.SpanContext
	for _, s := range c.spans.GetSpans() {
		if s.SpanContext.TraceID().String() != parentTrace {
			t.Errorf("%s is in the trace %s", s.Name, s.SpanContext.TraceID())
		}
		switch {
		case s.Name == "invoke_agent" && (s.Parent.SpanID().String() != parentSpan || !s.Parent.IsRemote()):
			t.Errorf("the parent of the run is %+v", s.Parent)
		case s.SpanKind == trace.SpanKindClient:
			attempt = s.SpanContext
		}
	}
	want := "00-" + parentTrace + "-" + attempt.SpanID().String() + "-01"
	if len(sent) != 1 || sent[0].Get("Traceparent") != want || sent[0].Get("Baggage") != "" {
		t.Errorf("sent %v, want the traceparent %s alone", sent, want)
	}
}

// If the server is instrumented, its span is the parent, and refusals are its events. A refused
// request begins no span.
func TestServerSpan(t *testing.T) {
	c := newCollector()
	opts := options(c.telemetry(t, oteltoolwire.Options{}))
	ctx, span := c.traces.Tracer("server").Start(t.Context(), "POST /dispatch")
	post(t, ctx, opts, unchanged)
	post(t, ctx, opts, func(r *http.Request) { r.Header.Set("Authorization", "Bearer wrong") })
	post(t, t.Context(), opts, func(r *http.Request) { r.Header.Set("Authorization", "Bearer wrong") })
	span.End()
	got := c.tree()
	if strings.Count(got, "\ninvoke_agent") != 0 || strings.Count(got, "\n  invoke_agent") != 1 ||
		strings.Count(got, "\n- toolwire.refusal error.type=unauthorized http.response.status_code=401\n") != 1 ||
		strings.Contains(got, "wrong") {
		t.Errorf("the spans are\n%s", got)
	}
	want := "toolwire.dispatch.refusals 2{request} error.type=unauthorized http.response.status_code=401"
	if got := c.points(t); !slices.Contains(got, want) {
		t.Errorf("the metrics are %q, want %q", got, want)
	}
}

func TestPropagatorOfOptions(t *testing.T) {
	c := newCollector()
	both := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	sent := post(t, t.Context(), options(c.telemetry(t, oteltoolwire.Options{Propagator: both})), unchanged)
	if len(sent) != 1 || sent[0].Get("Traceparent") == "" || sent[0].Get("Baggage") != "customer="+content {
		t.Errorf("with baggage: sent %v", sent)
	}
	c = newCollector()
	none := propagation.NewCompositeTextMapPropagator()
	sent = post(t, t.Context(), options(c.telemetry(t, oteltoolwire.Options{Propagator: none})), unchanged)
	spans := fmt.Sprint(c.spans.GetSpans())
	if len(sent) != 1 || sent[0].Get("Traceparent") != "" || strings.Contains(spans, parentTrace) {
		t.Errorf("without propagation: sent %v", sent)
	}
}

// Without providers, New uses the global ones.
func TestGlobalProviders(t *testing.T) {
	c := newCollector()
	otel.SetTracerProvider(c.traces)
	otel.SetMeterProvider(c.meters)
	t.Cleanup(func() {
		otel.SetTracerProvider(tracenoop.NewTracerProvider())
		otel.SetMeterProvider(metricnoop.NewMeterProvider())
	})
	tel, err := oteltoolwire.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	post(t, t.Context(), options(tel), unchanged)
	if len(c.spans.GetSpans()) != 3 || len(c.points(t)) != 3 {
		t.Errorf("the spans are\n%s\nthe metrics %q", c.tree(), c.points(t))
	}
}

// Two Telemetry values that observe the same calls do not end each other's spans.
func TestTwoTelemetries(t *testing.T) {
	first, second := newCollector(), newCollector()
	client, err := proxy.New("https://proxy.example.com", "run-token", &proxy.Options{
		Observer:  first.telemetry(t, oteltoolwire.Options{}).CallObserver(),
		Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }),
	})
	if err != nil {
		t.Fatal(err)
	}
	client = client.Observe(second.telemetry(t, oteltoolwire.Options{}).CallObserver())
	_, _ = client.Do(t.Context(), "get_order", nil)
	if len(first.spans.GetSpans()) != 2 || len(second.spans.GetSpans()) != 2 {
		t.Errorf("the spans are\n%s\nand\n%s", first.tree(), second.tree())
	}
}

// A run inside of another one, in the same program, whose start was not in time does not end the span
// of the other.
func TestRunInsideOfARun(t *testing.T) {
	c := newCollector()
	observer := c.telemetry(t, oteltoolwire.Options{}).RunObserver()
	outer := &dispatch.Run{RunID: "outer"}
	ctx := observer.RunStart(t.Context(), dispatch.RunStart{Run: outer})
	observer.RunEnd(ctx, dispatch.RunEnd{Run: &dispatch.Run{RunID: "inner"}})
	if n := len(c.spans.GetSpans()); n != 0 {
		t.Errorf("%d spans ended with the inner run", n)
	}
	observer.RunEnd(ctx, dispatch.RunEnd{Run: outer})
	if n := len(c.spans.GetSpans()); n != 1 {
		t.Errorf("%d spans ended", n)
	}
}

// flushes counts the flushes of a provider whose context has not ended.
type flushes struct{ traces, metrics int }

type countedTraces struct {
	trace.TracerProvider
	*flushes
}

func (c countedTraces) ForceFlush(ctx context.Context) error {
	if ctx.Err() == nil {
		c.traces++
	}
	return nil
}

type countedMetrics struct {
	metric.MeterProvider
	*flushes
}

func (c countedMetrics) ForceFlush(ctx context.Context) error {
	if ctx.Err() == nil {
		c.metrics++
	}
	return nil
}

// In code mode both providers are flushed, even if the run was interrupted. A handler flushes none.
func TestFlush(t *testing.T) {
	var f flushes
	tel, err := oteltoolwire.New(&oteltoolwire.Options{
		TracerProvider: countedTraces{tracenoop.NewTracerProvider(), &f},
		MeterProvider:  countedMetrics{metricnoop.NewMeterProvider(), &f},
	})
	if err != nil {
		t.Fatal(err)
	}
	post(t, t.Context(), options(tel), unchanged)
	if f != (flushes{}) {
		t.Errorf("a handler has flushed: %+v", f)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	run := &dispatch.Run{}
	ctx = tel.RunObserver().RunStart(ctx, dispatch.RunStart{Run: run})
	interrupt()
	tel.RunObserver().RunEnd(ctx, dispatch.RunEnd{Run: run})
	if f != (flushes{1, 1}) {
		t.Errorf("code mode has flushed: %+v", f)
	}
}

// TestMain lets the test binary be an agent in code mode, whose exporter sends in batches.
func TestMain(m *testing.M) {
	if file := os.Getenv("OTELTOOLWIRE_TEST_SPANS"); file != "" {
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(fileExporter(file)))
		tel, err := oteltoolwire.New(&oteltoolwire.Options{TracerProvider: provider})
		if err != nil {
			panic(err)
		}
		dispatch.Main(oneCall, &dispatch.Options{Observer: tel.RunObserver(), Proxy: &proxy.Options{Observer: tel.CallObserver()}})
	}
	os.Exit(m.Run())
}

// fileExporter writes the names and traces of spans to a file.
type fileExporter string

func (f fileExporter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	var b strings.Builder
	for _, s := range spans {
		fmt.Fprintf(&b, "%s %s\n", s.SpanContext().TraceID(), s.Name())
	}
	return os.WriteFile(string(f), []byte(b.String()), 0o600)
}

func (fileExporter) Shutdown(context.Context) error { return nil }

// In code mode the trace context is in the environment, and nothing is lost when the program exits.
func TestCodeMode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spans")
	result := dispatchtest.Run(t, dispatchtest.Target{
		Command: []string{os.Args[0]},
		Env:     []string{"OTELTOOLWIRE_TEST_SPANS=" + file, "TRACEPARENT=" + traceparent, "GOCOVERDIR=" + t.TempDir()},
	}, dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`1`)}}})
	result.AssertOK(t)
	got, err := os.ReadFile(file)
	want := parentTrace + " POST /tools/{name}\n" + parentTrace + " execute_tool get_order\n" + parentTrace + " invoke_agent\n"
	if string(got) != want {
		t.Errorf("exported %q, %v; want %q", got, err, want)
	}
}
