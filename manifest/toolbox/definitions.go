package toolbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/publicaddr"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolcall"
	"github.com/toolwire/toolwire/schema"
)

// Definitions lists the tools for a model, with the parameter reasoning and with the current
// details after the descriptions. If adapters are given, by name or id, it lists only their tools.
// [schema.Export] writes the list for the API of a model.
//
// Definitions fetches unknown details concurrently and waits for at most 3 s. A detail that cannot
// be fetched is left out; see the package comment. The error is an [*Error]: unknown_adapter, or
// toolwire.CodeCanceled or toolwire.CodeDeadline if ctx ends. The caller may change the list.
func (b *Toolbox) Definitions(ctx context.Context, adapters ...string) ([]schema.Tool, error) {
	for _, name := range adapters {
		if !slices.ContainsFunc(b.adapters, func(a Adapter) bool { return a.is(name) }) {
			return nil, errorf(codeUnknownAdapter, "", "the toolbox has no adapter %q", text.Cut(name, 128))
		}
	}
	if ctx.Err() != nil {
		return nil, contextError(httpcall.ContextError(ctx), "the list")
	}
	list := make([]schema.Tool, 0, len(b.tools))
	found := make([]*detail, 0, len(b.tools))
	for _, t := range b.tools {
		if b.of(t, adapters) {
			list = append(list, schema.Tool{Name: t.Name, Description: t.Description, InputSchema: slices.Clone(t.forModel)})
			found = append(found, b.details.of(t))
		}
	}
	for i, detail := range found {
		if detail == nil {
			continue
		}
		select {
		case <-detail.done:
		case <-ctx.Done():
			return nil, contextError(httpcall.ContextError(ctx), "the list")
		}
		switch d := &list[i].Description; {
		case detail.text == "":
		case *d == "":
			*d = detail.text
		default:
			*d += "\n\n" + detail.text
		}
	}
	return list, nil
}

// details fetches and caches the details of all tools, with one fetch per URL at a time.
type details struct {
	logger *slog.Logger
	caller httpcall.Client
	runner runner.Runner

	mu    sync.Mutex
	known map[string]*detail // the last one of each URL
}

// detail is a text that is being fetched, or was. The text is known when done is closed.
type detail struct {
	done    chan struct{}
	text    string
	expires time.Time
}

const (
	detailTimeout  = 3 * time.Second
	maxDetailBytes = 64 << 10
	detailTTL      = 60 * time.Second // of a text
	retryAfter     = 10 * time.Second // of a failure: a server that is down must not delay every list
)

func newDetails(logger *slog.Logger, transport http.RoundTripper) *details {
	return &details{
		logger: logger, known: map[string]*detail{}, caller: httpcall.Client{
			Transport: transport, Redirect: followWithin, Peer: "the server", Timeout: detailTimeout, MaxBytes: maxDetailBytes,
		},
		runner: runner.Runner{What: "the fetch of a detail", Key: "tool", Logger: logger, Cause: toolcall.ErrTimeout,
			Grace: runner.Grace},
	}
}

// of returns the detail of a tool, or nil if it has none. It starts a fetch if none is running and no text
// is fresh.
func (d *details) of(t *tool) *detail {
	if t.DetailURL == "" {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.known[t.DetailURL]
	if last != nil {
		select {
		case <-last.done:
			if time.Now().Before(last.expires) {
				return last
			}
		default:
			return last
		}
	}
	next := &detail{done: make(chan struct{})}
	d.known[t.DetailURL] = next
	go d.fetch(next, t.DetailURL, t.Name)
	return next
}

// fetch sets a detail, and then logs a failure. It does not use a caller's context: other callers may
// wait when that one ends.
func (d *details) fetch(into *detail, url, tool string) {
	type result struct {
		text string
		err  *Error
	}
	deadline := time.Now().Add(d.caller.Timeout)
	end := runner.Run(context.Background(), &d.runner, deadline, tool, func(ctx context.Context) result {
		text, err := d.get(ctx, url)
		return result{text, err}
	})
	text, err := end.Value.text, end.Value.err
	switch {
	case end.Panic != nil: // of Options.Transport, the host's code
		err = errorf(toolwire.CodeTransport, "",
			"the detail_url cannot be reached: Options.Transport panicked or ended its goroutine")
	case end.Left:
		err = d.timeout(0, toolcall.ErrTimeout)
	}
	into.text, into.expires = text, time.Now().Add(detailTTL)
	if err != nil {
		into.expires = time.Now().Add(retryAfter)
	}
	close(into.done)
	if err != nil {
		err.Tool = tool
		d.log("the detail of a tool is missing", "tool", tool, "error", err)
	}
}

// log drops the panic of a Logger, which would end the process.
func (d *details) log(message string, args ...any) {
	defer func() { _ = recover() }()
	d.logger.Warn(message, args...)
}

// get sends one request.
func (d *details) get(ctx context.Context, url string) (string, *Error) {
	request, _ := http.NewRequest(http.MethodGet, url, nil) // Parse has checked the URL
	request.Header["Accept"] = []string{"application/json"}
	got, failure := d.caller.Do(ctx, request, nil)
	switch {
	case got.Status == http.StatusNoContent:
		return "", nil
	case got.Status != 0 && got.Status != http.StatusOK:
		e := statusError(got.Status, nil, nil)
		e.Message = strings.Replace(e.Message, "the tool's server", "the detail_url", 1)
		return "", e
	case failure != nil:
		return "", d.failed(got.Status, failure)
	}
	text, err := readDetail(got.Body)
	if err != nil {
		return "", &Error{Code: toolwire.CodeBadResponse, Status: got.Status, Err: malformed(err),
			Message: `the detail_url must return {"detail": "<text>"}`}
	}
	return clean(text), nil
}

// failed describes a request without a complete response.
func (d *details) failed(status int, failure *httpcall.Failure) *Error {
	switch {
	case errors.Is(failure, publicaddr.ErrNotPublic):
		return &Error{Code: codePrivate, Err: publicaddr.ErrNotPublic,
			Message: "the detail_url leads to an address that is not public; Options.InsecurePrivateDetails allows it"}
	case failure.Kind == httpcall.TooLarge:
		return &Error{Code: toolwire.CodeResponseTooLarge, Status: status,
			Message: fmt.Sprintf("the detail has more than %d bytes of JSON", d.caller.MaxBytes)}
	case failure.Kind == httpcall.Broken:
		return &Error{Code: toolwire.CodeTransport, Status: status, Message: "the detail_url cannot be reached", Err: failure.Err}
	}
	return d.timeout(status, failure.Err)
}

func (d *details) timeout(status int, cause error) *Error {
	return &Error{Code: toolwire.CodeTimeout, Status: status, Err: cause,
		Message: "the detail_url did not respond within " + d.caller.Timeout.String()}
}

func readDetail(body []byte) (text string, err error) {
	found := false
	err = rawjson.Read(body, rawjson.Limits{Mode: rawjson.Liberal}, func(r *rawjson.Reader) error {
		return r.Object(nil, func(name string) (err error) {
			if name == "detail" {
				found = r.Kind() == '"'
				text, err = r.String()
			}
			return err
		}, "detail")
	})
	if err == nil && !found {
		err = errors.New("the member detail is missing or not a string")
	}
	return text, err
}

// clean removes control characters except line breaks and tabs, and the white space around the
// text.
func clean(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, text))
}
