package oteltoolwire_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/oteltoolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// collector is an SDK that keeps everything in memory.
type collector struct {
	spans  *tracetest.InMemoryExporter
	traces *sdktrace.TracerProvider
	reader *sdkmetric.ManualReader
	meters *sdkmetric.MeterProvider
}

func newCollector() *collector {
	c := &collector{spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	c.traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(c.spans))
	c.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(c.reader))
	return c
}

// telemetry fills the providers in.
func (c *collector) telemetry(t testing.TB, opts oteltoolwire.Options) *oteltoolwire.Telemetry {
	t.Helper()
	opts.TracerProvider, opts.MeterProvider = c.traces, c.meters
	tel, err := oteltoolwire.New(&opts)
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

func options(tel *oteltoolwire.Telemetry) *dispatch.Options {
	return &dispatch.Options{
		Tokens: []string{agentToken}, Observer: tel.RunObserver(), Proxy: &proxy.Options{Observer: tel.CallObserver()},
	}
}

// Secrets and content that must not be in any span or metric.
const (
	agentToken = "agent-token-hunter2"
	content    = "swordfish"
)

// tree returns the spans as lines, each below its parent, with their events.
func (c *collector) tree() string {
	spans := c.spans.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	known := map[trace.SpanID]bool{}
	for _, s := range spans {
		known[s.SpanContext.SpanID()] = true
	}
	var b strings.Builder
	var show func(parent trace.SpanID, indent string)
	show = func(parent trace.SpanID, indent string) {
		for _, s := range spans {
			if s.Parent.SpanID() != parent && (parent.IsValid() || known[s.Parent.SpanID()]) {
				continue
			}
			fmt.Fprintf(&b, "%s%s %s %s", indent, s.Name, s.SpanKind, s.EndTime.Sub(s.StartTime))
			if s.Status.Code != codes.Unset {
				fmt.Fprintf(&b, " %s(%s)", s.Status.Code, s.Status.Description)
			}
			fmt.Fprintf(&b, "%s\n", words(s.Attributes))
			for _, e := range s.Events {
				fmt.Fprintf(&b, "%s- %s%s\n", indent, e.Name, words(e.Attributes))
			}
			show(s.SpanContext.SpanID(), indent+"  ")
		}
	}
	show(trace.SpanID{}, "")
	return b.String()
}

func words(attrs []attribute.KeyValue) string {
	attrs = slices.Clone(attrs)
	slices.SortFunc(attrs, func(a, b attribute.KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	var b strings.Builder
	for _, a := range attrs {
		fmt.Fprintf(&b, " %s=%s", a.Key, a.Value.String())
	}
	return b.String()
}

// points returns the metrics as sorted lines.
func (c *collector) points(t testing.TB) []string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := c.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintf("%s %d× %g%s%s", m.Name, p.Count, p.Sum, m.Unit, words(p.Attributes.ToSlice())))
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintf("%s %d× %d%s%s", m.Name, p.Count, p.Sum, m.Unit, words(p.Attributes.ToSlice())))
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintf("%s %d%s%s", m.Name, p.Value, m.Unit, words(p.Attributes.ToSlice())))
				}
			default:
				t.Errorf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if got, want = strings.TrimSpace(got), strings.TrimSpace(want); got != want {
		t.Errorf("%s:\n%s\n\nwant:\n%s", what, got, want)
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCollector()
		tel := c.telemetry(t, oteltoolwire.Options{AgentName: "refunds", Provider: "openai"})
		world := proxytest.World{
			Behaviors: map[string]proxytest.Behavior{
				"get_order":    proxytest.Canned(`{"note":"` + content + `"}`),
				"refund_order": proxytest.Canned(`{"error":"` + content + `"}`),
			},
			FailureRules: []proxytest.FailureRule{
				{Tool: "get_order", Nth: []int{1}, Status: 429, RetryAfter: 7},
				{Trace: "handoff", Status: 400, ErrorClass: "bad"},
			},
		}
		agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(time.Second)
			args := map[string]string{"note": content}
			_, _ = run.Proxy.Do(proxy.WithCallID(ctx, "toolu_1"), "get_order", args)
			_, _ = run.Proxy.Trace(ctx, proxy.EventThinking, map[string]string{"text": content})
			_, _ = run.Proxy.Handoff(ctx, "supervisor", "supervisor/refunds")
			_, _ = run.Proxy.As("supervisor/refunds").Do(ctx, "refund_order", args)
			_, _ = run.Proxy.Do(ctx, "refund "+content, args)
			return &dispatch.Response{
				FinalResponse: content, Messages: []dispatch.Message{{Role: "robot", Content: dispatch.Text(content)}},
				Metadata: &dispatch.Metadata{Model: "gpt-5", TotalInputTokens: 804, TotalOutputTokens: 80},
			}, nil
		}
		dispatchtest.Run(t, dispatchtest.Target{Agent: agent, Options: options(tel), AuthValue: "Bearer " + agentToken},
			dispatchtest.Task{ID: 42, AgentID: 8, Instruction: content, World: world})
		wantText(t, "spans", c.tree(), `
invoke_agent refunds internal 8s gen_ai.agent.id=8 gen_ai.agent.name=refunds gen_ai.operation.name=invoke_agent gen_ai.provider.name=openai gen_ai.response.model=gpt-5 gen_ai.usage.input_tokens=804 gen_ai.usage.output_tokens=80 toolwire.run.id=1 toolwire.run.tool_calls=3 toolwire.task.id=42
- toolwire.trace toolwire.trace.sequence=2 toolwire.trace.type=thinking
- toolwire.handoff error.type=refused toolwire.handoff.from=supervisor toolwire.handoff.to=supervisor/refunds
- toolwire.contract_problem toolwire.problem.code=messages_removed toolwire.problem.pointer=/messages/0/role
  execute_tool get_order internal 7s gen_ai.agent.name=refunds gen_ai.operation.name=execute_tool gen_ai.tool.call.id=toolu_1 gen_ai.tool.name=get_order gen_ai.tool.type=function toolwire.call.attempts=2 toolwire.call.source=odyssey
  - toolwire.wait error.type=rate_limited toolwire.wait.attempt=2 toolwire.wait.duration=7 toolwire.wait.reason=backoff toolwire.wait.request=get_order
    POST /tools/{name} client 0s Error(rate_limited) error.type=rate_limited http.request.method=POST http.response.status_code=429 server.address=proxy.test server.port=80 url.full=http://proxy.test/REDACTED/tools/get_order url.template=/tools/{name}
    POST /tools/{name} client 0s http.request.method=POST http.request.resend_count=1 http.response.status_code=200 server.address=proxy.test server.port=80 url.full=http://proxy.test/REDACTED/tools/get_order url.template=/tools/{name}
  POST /traces/{type} client 0s http.request.method=POST http.response.status_code=200 server.address=proxy.test server.port=80 url.full=http://proxy.test/REDACTED/traces/thinking url.template=/traces/{type}
  POST /traces/{type} client 0s Error(refused) error.type=refused http.request.method=POST http.response.status_code=400 server.address=proxy.test server.port=80 toolwire.error_class=bad url.full=http://proxy.test/REDACTED/traces/handoff url.template=/traces/{type}
  execute_tool refund_order internal 0s Error(tool_failed) error.type=tool_failed gen_ai.agent.name=supervisor/refunds gen_ai.operation.name=execute_tool gen_ai.tool.name=refund_order gen_ai.tool.type=function toolwire.call.attempts=1 toolwire.call.source=odyssey
    POST /tools/{name} client 0s http.request.method=POST http.response.status_code=200 server.address=proxy.test server.port=80 url.full=http://proxy.test/REDACTED/tools/refund_order url.template=/tools/{name}
  execute_tool _OTHER internal 0s Error(invalid_tool_name) error.type=invalid_tool_name gen_ai.agent.name=refunds gen_ai.operation.name=execute_tool gen_ai.tool.name=_OTHER gen_ai.tool.type=function toolwire.call.attempts=0 toolwire.call.delivery=not_sent
`)
		wantText(t, "metrics", strings.Join(c.points(t), "\n"), `
gen_ai.client.token.usage 1× 804{token} gen_ai.agent.name=refunds gen_ai.operation.name=invoke_agent gen_ai.provider.name=openai gen_ai.response.model=gpt-5 gen_ai.token.type=input
gen_ai.client.token.usage 1× 80{token} gen_ai.agent.name=refunds gen_ai.operation.name=invoke_agent gen_ai.provider.name=openai gen_ai.response.model=gpt-5 gen_ai.token.type=output
gen_ai.execute_tool.duration 1× 0s error.type=invalid_tool_name gen_ai.agent.name=refunds gen_ai.tool.name=_OTHER gen_ai.tool.type=function
gen_ai.execute_tool.duration 1× 0s error.type=tool_failed gen_ai.agent.name=supervisor/refunds gen_ai.tool.name=refund_order gen_ai.tool.type=function
gen_ai.execute_tool.duration 1× 7s gen_ai.agent.name=refunds gen_ai.tool.name=get_order gen_ai.tool.type=function
gen_ai.invoke_agent.duration 1× 8s gen_ai.agent.name=refunds
gen_ai.invoke_agent.tool_calls 1× 3{tool_call} gen_ai.agent.name=refunds
`)
		if everything := fmt.Sprintf("%+v %q", c.spans.GetSpans(), c.points(t)); strings.Contains(everything, content) ||
			strings.Contains(everything, agentToken) {
			t.Errorf("telemetry has a secret or content: %s", everything)
		}
	})
}

func TestContent(t *testing.T) {
	c := newCollector()
	tel := c.telemetry(t, oteltoolwire.Options{Content: true})
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "get_order", json.RawMessage(`{"id": 4521}`))
		_, _ = run.Proxy.Do(ctx, "get_order", json.RawMessage("{\"id\":\"\xff\""))
		_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"too_large": strings.Repeat("x", 1<<20)})
		return nil, nil
	}
	dispatchtest.Run(t, dispatchtest.Target{Agent: agent, Options: options(tel), AuthValue: "Bearer " + agentToken},
		dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Canned(`{"status":"shipped"}`),
		}}})
	got := c.tree()
	for _, want := range []string{
		`gen_ai.tool.call.arguments={"id": 4521} gen_ai.tool.call.result={"status":"shipped"}`,
		"arguments={\"id\":\"\uFFFD\" ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if strings.Contains(got, "too_large\":") {
		t.Error("arguments that are too large for the proxy are in a span")
	}
}

// With an SDK that has spans of its own, the requests are below those, and waits are their events.
func TestNoToolSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCollector()
		tel := c.telemetry(t, oteltoolwire.Options{NoToolSpans: true})
		tracer := c.traces.Tracer("sdk")
		agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			ctx, span := tracer.Start(ctx, "execute_tool by the SDK")
			defer span.End()
			_, err := run.Proxy.Do(ctx, "get_order", nil)
			return &dispatch.Response{FinalResponse: "done"}, err
		}
		dispatchtest.Run(t, dispatchtest.Target{Agent: agent, Options: options(tel), AuthValue: "Bearer " + agentToken},
			dispatchtest.Task{World: proxytest.World{
				Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Canned(`1`)},
				FailureRules: []proxytest.FailureRule{{Nth: []int{1}, Status: 503, ErrorClass: "lock_contention", RetryAfter: 9}},
			}})
		wantText(t, "spans", c.tree(), `
invoke_agent internal 9s gen_ai.agent.id=1 gen_ai.operation.name=invoke_agent toolwire.run.id=1 toolwire.run.tool_calls=1 toolwire.task.id=1
  execute_tool by the SDK internal 9s
  - toolwire.wait error.type=unavailable toolwire.wait.attempt=2 toolwire.wait.duration=9 toolwire.wait.reason=backoff toolwire.wait.request=get_order
    POST /tools/{name} client 0s Error(unavailable) error.type=unavailable http.request.method=POST http.response.status_code=503 server.address=proxy.test server.port=80 toolwire.error_class=lock_contention url.full=http://proxy.test/REDACTED/tools/get_order url.template=/tools/{name}
    POST /tools/{name} client 0s http.request.method=POST http.request.resend_count=1 http.response.status_code=200 server.address=proxy.test server.port=80 url.full=http://proxy.test/REDACTED/tools/get_order url.template=/tools/{name}
`)
		got := strings.Join(c.points(t), "\n")
		if strings.Contains(got, "execute_tool") || !strings.Contains(got, "invoke_agent") {
			t.Errorf("metrics %s", got)
		}
	})
}

// However a run ends, its span has the code, and no text of an error.
func TestEndsOfRuns(t *testing.T) {
	for want, tt := range map[string]struct {
		agent dispatch.Agent
		rules []proxytest.FailureRule
	}{
		"agent_failed": {agent: func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return nil, errors.New(content)
		}},
		"mine": {agent: func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return nil, &toolwire.Error{Code: "mine", Message: content}
		}},
		"mine_too": {agent: func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, err := run.Proxy.Do(ctx, "no such tool", nil)
			return nil, &toolwire.Error{Code: "mine_too", Message: content, Err: err}
		}},
		"agent_panicked": {agent: func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic(content) }},
		"timeout": {agent: func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"run_over": {agent: func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, err := run.Proxy.Do(ctx, "get_order", nil)
			return nil, err
		}, rules: []proxytest.FailureRule{{Status: 401, ErrorClass: "run_token_expired"}}},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCollector()
				tel := c.telemetry(t, oteltoolwire.Options{})
				_, err := dispatchtest.Dispatch(t.Context(),
					dispatchtest.Target{Agent: tt.agent, Options: options(tel), AuthValue: "Bearer " + agentToken},
					dispatchtest.Task{World: proxytest.World{
						Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`1`)}, FailureRules: tt.rules,
					}})
				if err != nil {
					t.Fatal(err)
				}
				got, _, _ := strings.Cut(c.tree(), "\n  ")
				if !strings.Contains(got, " Error("+want+") error.type="+want+" ") || strings.Contains(got, content) ||
					strings.Contains(got, "- toolwire.timeout") != (want == "timeout") {
					t.Errorf("the span is\n%s", got)
				}
				points := strings.Join(c.points(t), "\n")
				if !strings.Contains(points, "gen_ai.invoke_agent.duration 1× ") ||
					!strings.Contains(points, "s error.type="+want) || strings.Contains(points, content) {
					t.Errorf("metrics\n%s", points)
				}
			})
		})
	}
}

// Clients without a handler have spans below whatever span their context has. The wait for the rate
// limit is an event with its real length.
func TestProxyWithoutAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCollector()
		tel := c.telemetry(t, oteltoolwire.Options{})
		client, err := proxy.New("https://proxy.example.com:8443/runs/"+content, agentToken, &proxy.Options{
			Observer: tel.CallObserver(), Pacer: proxy.NewPacer(1, 10*time.Second), Tools: []string{"get_order"},
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				return nil, errors.New(content)
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, span := c.traces.Tracer("script").Start(t.Context(), "script")
		for _, tool := range []string{"get_order", "get_order", "find_order"} {
			_, _ = client.Do(ctx, tool, nil)
		}
		span.End()
		wantText(t, "spans", c.tree(), `
script internal 14.05s
  execute_tool get_order internal 1s Error(transport) error.type=transport gen_ai.operation.name=execute_tool gen_ai.tool.name=get_order gen_ai.tool.type=function toolwire.call.attempts=1 toolwire.call.delivery=unknown
    POST /tools/{name} client 1s Error(transport) error.type=transport http.request.method=POST server.address=proxy.example.com server.port=8443 url.full=https://proxy.example.com:8443/REDACTED/tools/get_order url.template=/tools/{name}
  execute_tool get_order internal 13.05s Error(transport) error.type=transport gen_ai.operation.name=execute_tool gen_ai.tool.name=get_order gen_ai.tool.type=function toolwire.call.attempts=1 toolwire.call.delivery=unknown
  - toolwire.wait toolwire.wait.attempt=1 toolwire.wait.duration=12.05 toolwire.wait.reason=pacing toolwire.wait.request=get_order
    POST /tools/{name} client 1s Error(transport) error.type=transport http.request.method=POST server.address=proxy.example.com server.port=8443 url.full=https://proxy.example.com:8443/REDACTED/tools/get_order url.template=/tools/{name}
  execute_tool find_order internal 0s Error(unknown_tool) error.type=unknown_tool gen_ai.operation.name=execute_tool gen_ai.tool.name=find_order gen_ai.tool.type=function toolwire.call.attempts=0 toolwire.call.delivery=not_sent
`)
		got := strings.Join(c.points(t), "\n")
		if strings.Contains(got, "find_order") || !strings.Contains(got, "error.type=unknown_tool gen_ai.tool.name=_OTHER") {
			t.Errorf("a tool that does not exist is in a metric:\n%s", got)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Runs at the same time do not mix their spans.
func TestConcurrency(t *testing.T) {
	c := newCollector()
	tel := c.telemetry(t, oteltoolwire.Options{})
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := proxy.Each(ctx, make([]int, 8), func(ctx context.Context, _ int) (json.RawMessage, error) {
			return proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
		})
		return &dispatch.Response{FinalResponse: "done"}, err
	}
	opts := options(tel)
	world := proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`1`)}}
	const runs = 8
	var wg sync.WaitGroup
	for range runs {
		wg.Go(func() {
			result, err := dispatchtest.Dispatch(t.Context(),
				dispatchtest.Target{Agent: agent, Options: opts, AuthValue: "Bearer " + agentToken},
				dispatchtest.Task{World: world})
			if err != nil || !result.OK() {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
	wg.Wait()
	names := map[trace.TraceID]map[string]int{}
	for _, s := range c.spans.GetSpans() {
		id := s.SpanContext.TraceID()
		if names[id] == nil {
			names[id] = map[string]int{}
		}
		names[id][s.Name]++
	}
	if len(names) != runs {
		t.Errorf("%d traces", len(names))
	}
	for _, n := range names {
		if n["invoke_agent"] != 1 || n["execute_tool get_order"] != 8 || n["POST /tools/{name}"] != 8 {
			t.Errorf("a trace has %v", n)
		}
	}
}

// A model that invents names of tools makes no time series of them, whatever else is wrong with its
// calls, and neither does a label that the client refuses.
func TestInventedNames(t *testing.T) {
	c := newCollector()
	client, err := proxy.New("https://proxy.example.com", agentToken, &proxy.Options{
		Observer: c.telemetry(t, oteltoolwire.Options{AgentName: "refunds"}).CallObserver(),
		CheckArguments: func(_ string, arguments json.RawMessage) error {
			if len(arguments) > 2 {
				return errors.New("no such tool")
			}
			return nil
		},
		Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = client.Do(t.Context(), content, json.RawMessage(`{`))
	_, _ = client.Do(t.Context(), content, json.RawMessage(`{"unknown":1}`))
	_, _ = client.Do(t.Context(), content, json.RawMessage(`{"long":"`+strings.Repeat("x", 1<<20)+`"}`))
	_, _ = client.As(" "+content).Do(t.Context(), "get_order", nil)
	_, _ = client.Do(t.Context(), "get_order", nil)
	points := strings.Join(c.points(t), "\n")
	if strings.Contains(points, content) || strings.Count(points, "gen_ai.tool.name=_OTHER") != 3 ||
		strings.Count(points, "gen_ai.agent.name=refunds ") != 4 || strings.Count(points, "gen_ai.tool.name=get_order") != 1 {
		t.Errorf("the metrics are\n%s", points)
	}
}

// A response has as many tokens as it says. What it does not say is not 0.
func TestTokens(t *testing.T) {
	for name, tt := range map[string]struct {
		metadata *dispatch.Metadata
		span     string
		points   int
	}{
		"none":        {nil, "", 0},
		"model alone": {&dispatch.Metadata{Model: "gpt-5"}, " gen_ai.response.model=gpt-5", 0},
		"output alone": {&dispatch.Metadata{TotalOutputTokens: 80},
			" gen_ai.usage.input_tokens=0 gen_ai.usage.output_tokens=80", 1},
	} {
		c := newCollector()
		agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "done", Metadata: tt.metadata}, nil
		}
		dispatchtest.Run(t, dispatchtest.Target{Agent: agent, Options: options(c.telemetry(t, oteltoolwire.Options{})),
			AuthValue: "Bearer " + agentToken}, dispatchtest.Task{})
		points := strings.Count(strings.Join(c.points(t), "\n"), "gen_ai.client.token.usage")
		if got := c.tree(); !strings.Contains(got, "invoke_agent"+tt.span+" toolwire") || points != tt.points {
			t.Errorf("%s: %d metrics, and the span\n%s", name, points, got)
		}
	}
}

// A peer that names its models as it likes makes no time series of them. A run with several models counts
// for the first; its span names all.
func TestModelsInMetrics(t *testing.T) {
	c := newCollector()
	model := ""
	h, err := dispatch.New(func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "done", Metadata: &dispatch.Metadata{Model: model, TotalOutputTokens: 1}}, nil
	}, options(c.telemetry(t, oteltoolwire.Options{})))
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string) {
		model = name
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"task_id":1,"input":{"user_instruction":"a"}}`))
		r.Header.Set("Authorization", "Bearer "+agentToken)
		r.Header.Set("X-Pipelines-Run-Token", "a-run-token")
		r.Header.Set("X-Pipelines-Odyssey-Proxy-Url", "https://api.example.com/runs/abc")
		if h.ServeHTTP(w, r); w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
	}
	for _, name := range []string{"", "a, b", "a", "a, c"} {
		run(name)
	}
	for i := range 300 {
		run(fmt.Sprint("model-", i))
	}
	run("model-98")
	run("a, model-299")
	points := c.points(t)
	tokens := slices.DeleteFunc(points, func(p string) bool { return !strings.HasPrefix(p, "gen_ai.client.token.usage") })
	text := strings.Join(tokens, "\n")
	if len(tokens) != 102 { // one without a name, 100, and what is left
		t.Errorf("%d time series", len(tokens))
	}
	for _, want := range []string{" 4× 4{token} gen_ai.operation.name=invoke_agent gen_ai.response.model=a ",
		" 2× 2{token} gen_ai.operation.name=invoke_agent gen_ai.response.model=model-98 ",
		" 201× 201{token} gen_ai.operation.name=invoke_agent gen_ai.response.model=_OTHER "} {
		if !strings.Contains(text, want) {
			t.Errorf("no%s in\n%s", want, text)
		}
	}
	if spans := c.tree(); !strings.Contains(spans, "gen_ai.response.model=a, c ") || !strings.Contains(spans, "gen_ai.response.model=model-299 ") {
		t.Error("the spans do not name the models")
	}
}

// A name that the proxy does not know makes no time series. Spans have only names that a tool or a
// type can have. Without a port in the URL, the port follows from the scheme.
func TestNamesOfRequests(t *testing.T) {
	c := newCollector()
	status, class := 200, ""
	client, err := proxy.New("https://proxy.example.com", agentToken, &proxy.Options{
		Observer: c.telemetry(t, oteltoolwire.Options{}).CallObserver(),
		Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			body := io.NopCloser(strings.NewReader(`{"response":1,"accepted":true,"detail":{"error_class":"` + class + `"}}`))
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: body}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := c.traces.Tracer("script").Start(t.Context(), "script")
	long := strings.Repeat("x", 129)
	_, _ = client.Do(ctx, long, nil)
	_, _ = client.Trace(ctx, proxy.Event(content+" "), nil)
	_, _ = client.Handoff(ctx, "supervisor", "")
	_, _ = client.Handoff(ctx, "", "refunds")
	for _, tt := range []struct {
		status int
		class  string
	}{{404, ""}, {422, "tool_not_executable"}, {422, "other"}} {
		status, class = tt.status, tt.class
		_, _ = client.Do(ctx, "called_"+strconv.Itoa(status)+class, nil)
	}
	span.End()
	spans, points := c.tree(), strings.Join(c.points(t), "\n")
	if strings.Contains(spans, content) || strings.Contains(spans, long) || !strings.Contains(spans, " server.port=443 ") ||
		strings.Count(spans, "\n- toolwire.handoff ") != 2 || strings.Count(spans, "toolwire.trace.type=_OTHER") != 1 {
		t.Errorf("the spans are\n%s", spans)
	}
	if strings.Contains(points, "called_404") || strings.Contains(points, "called_422tool") ||
		!strings.Contains(points, "called_422other") {
		t.Errorf("the metrics are\n%s", points)
	}
}

// Calls of tools that are not sent to a proxy, and requests to a catalog, are reported by their hooks.
func TestOtherHooks(t *testing.T) { synctest.Test(t, testOtherHooks) }

func testOtherHooks(t *testing.T) {
	c := newCollector()
	tel := c.telemetry(t, oteltoolwire.Options{AgentName: "refunds"})
	box, err := toolbox.Parse([]byte(`[{"name":"now","handler":"now"},{"name":"fail","handler":"fail"}]`), &toolbox.Options{
		Handlers: map[string]toolbox.Handler{
			"now": func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) {
				time.Sleep(time.Second)
				return "noon", nil
			},
			"fail": func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) {
				return "", errors.New("x")
			},
		},
		OnCall: func(ctx context.Context, end toolbox.CallEnd) {
			tel.ToolCall(ctx, end.Tool, toolwire.CodeOf(end.Err), end.Duration)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, outer := c.traces.Tracer("test").Start(t.Context(), "outer")
	_, _ = box.Call(ctx, "now", nil)
	_, _ = box.Call(ctx, "fail", nil)
	outer.End()
	handler, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{InsecureAccount: "6f9619ff-8b86-4011-b42d-00c04fc964ff",
		OnRequest: func(ctx context.Context, end catalog.RequestEnd) {
			tel.Request(ctx, end.Method, end.Route, end.Status, end.Duration)
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []string{"GET /tools/", "BREW /tools/", "GET /tools/x/y/z"} {
		method, path, _ := strings.Cut(request, " ")
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
	}
	tel.Request(t.Context(), "GET", "/tools/", 503, time.Second)
	wantText(t, "the spans", c.tree(), `
outer internal 1s
  execute_tool now internal 1s gen_ai.agent.name=refunds gen_ai.operation.name=execute_tool gen_ai.tool.name=now gen_ai.tool.type=function
  execute_tool fail internal 0s Error(tool_failed) error.type=tool_failed gen_ai.agent.name=refunds gen_ai.operation.name=execute_tool gen_ai.tool.name=fail gen_ai.tool.type=function`)
	wantText(t, "the metrics", strings.Join(c.points(t), "\n"), `
gen_ai.execute_tool.duration 1× 0s error.type=tool_failed gen_ai.agent.name=refunds gen_ai.tool.name=fail gen_ai.tool.type=function
gen_ai.execute_tool.duration 1× 1s gen_ai.agent.name=refunds gen_ai.tool.name=now gen_ai.tool.type=function
http.server.request.duration 1× 0s http.request.method=GET http.response.status_code=200 http.route=/tools/
http.server.request.duration 1× 0s http.request.method=GET http.response.status_code=404 http.route=unknown
http.server.request.duration 1× 0s http.request.method=_OTHER http.response.status_code=405 http.route=/tools/
http.server.request.duration 1× 1s error.type=503 http.request.method=GET http.response.status_code=503 http.route=/tools/`)
	silent := c.telemetry(t, oteltoolwire.Options{NoToolSpans: true})
	c.spans.Reset()
	silent.ToolCall(t.Context(), "now", "", time.Second)
	wantText(t, "the spans", c.tree(), ``)
}
