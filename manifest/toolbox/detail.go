package toolbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/publicaddr"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/toolcall"
)

// details fetches and caches the details of all tools, with one fetch per URL at a time.
type details struct {
	logger *slog.Logger
	caller httpcall.Client
	runner runner.Runner

	mu    sync.Mutex
	known map[string]*detail // by URL; the set of keys is constant
}

type detail struct {
	tool    string // the first tool with the URL
	text    string
	expires time.Time
	fetch   *fetch // the one in progress, or nil
}

// fetch is one request for a detail.
type fetch struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{} // closed when text is set
	text    string
}

const (
	detailTimeout  = 3 * time.Second
	maxDetailBytes = 64 << 10
	detailTTL      = 60 * time.Second // of a text
	retryAfter     = 10 * time.Second // of a failure: a server that is down must not delay every list
)

func newDetails(s *shared, transport http.RoundTripper) *details {
	d := &details{logger: s.options.Logger, known: make(map[string]*detail), caller: httpcall.Client{
		Transport: transport, Redirect: followWithin, Peer: "the server", Timeout: detailTimeout, MaxBytes: maxDetailBytes,
	}}
	d.runner = runner.Runner{What: "the fetch of a detail", Key: "tool", Logger: s.options.Logger, Cause: toolcall.ErrTimeout,
		Grace: runner.Grace}
	for _, t := range s.tools {
		if t.DetailURL != "" && d.known[t.DetailURL] == nil {
			d.known[t.DetailURL] = &detail{tool: t.Name}
		}
	}
	return d
}

// lookup is a cached text, or the fetch that will return one.
type lookup struct {
	url   string
	text  string
	fetch *fetch
}

// begin starts a fetch if one is needed. The caller must end every lookup.
func (d *details) begin(url string) lookup {
	if url == "" {
		return lookup{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known[url]
	if time.Now().Before(k.expires) {
		return lookup{text: k.text}
	}
	if k.fetch == nil {
		// The fetch does not use a caller's context: other callers may wait when that one ends.
		ctx, cancel := context.WithCancel(context.Background())
		k.fetch = &fetch{cancel: cancel, done: make(chan struct{})}
		go d.run(ctx, k.fetch, url, k.tool)
	}
	k.fetch.waiting++
	return lookup{url: url, fetch: k.fetch}
}

// end waits for the text of a lookup, or for the end of ctx. It cancels a fetch without lookups.
func (d *details) end(ctx context.Context, l lookup) (string, error) {
	if l.fetch == nil {
		return l.text, nil
	}
	var err error
	select {
	case <-l.fetch.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.fetch.waiting--; l.fetch.waiting == 0 {
		l.fetch.cancel()
		if k := d.known[l.url]; k.fetch == l.fetch {
			k.fetch = nil
		}
	}
	if err != nil {
		return "", err
	}
	return l.fetch.text, nil
}

// run fetches, caches, and then logs a failure. A canceled fetch is neither cached nor logged.
func (d *details) run(ctx context.Context, f *fetch, url, tool string) {
	defer f.cancel()
	type detail struct {
		text string
		err  *Error
	}
	end := runner.Run(ctx, &d.runner, time.Now().Add(d.caller.Timeout), tool, func(ctx context.Context) detail {
		text, err := d.get(ctx, url)
		return detail{text, err}
	})
	text, err := end.Value.text, end.Value.err
	switch {
	case end.Panic != nil: // of Options.Transport, the host's code
		err = errorf(CodeTransport, "",
			"the detail_url cannot be reached: Options.Transport panicked or ended its goroutine")
	case end.Left:
		err = d.timeout(0, toolcall.ErrTimeout)
	}
	d.remember(f, url, text, err)
	if err != nil && end.Stop != runner.Canceled {
		err.Tool = tool
		d.log("the detail of a tool is missing", "tool", tool, "error", err)
	}
}

func (d *details) remember(f *fetch, url, text string, err *Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := d.known[url]; k.fetch == f {
		k.text, k.fetch = text, nil
		k.expires = time.Now().Add(detailTTL)
		if err != nil {
			k.expires = time.Now().Add(retryAfter)
		}
	}
	f.text = text
	close(f.done)
}

// log drops the panic of a Logger, which would end the process.
func (d *details) log(message string, args ...any) {
	defer func() { _ = recover() }()
	d.logger.Warn(message, args...)
}

// get sends one request.
func (d *details) get(ctx context.Context, url string) (string, *Error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", &Error{Code: CodeTransport, Message: "the detail_url is not a URL",
			Err: httpcall.Quiet("it is not a URL", err)}
	}
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
		return "", &Error{Code: CodeBadResponse, Status: got.Status, Err: malformed(err),
			Message: `the detail_url must return {"detail": "<text>"}`}
	}
	return clean(text), nil
}

// failed describes a request without a complete response.
func (d *details) failed(status int, failure *httpcall.Failure) *Error {
	switch {
	case errors.Is(failure, publicaddr.ErrNotPublic):
		return &Error{Code: CodePrivate, Err: publicaddr.ErrNotPublic,
			Message: "the detail_url leads to an address that is not public; Options.InsecurePrivateDetails allows it"}
	case failure.Kind == httpcall.TooLarge:
		return &Error{Code: CodeResponseTooLarge, Status: status,
			Message: fmt.Sprintf("the detail has more than %d bytes of JSON", d.caller.MaxBytes)}
	case failure.Kind == httpcall.Broken:
		return &Error{Code: CodeTransport, Status: status, Message: "the detail_url cannot be reached", Err: failure.Err}
	}
	return d.timeout(status, failure.Err)
}

func (d *details) timeout(status int, cause error) *Error {
	return &Error{Code: CodeTimeout, Status: status, Err: cause,
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
