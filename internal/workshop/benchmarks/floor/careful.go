package floor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Careful is the handler that a careful engineer writes by hand: the documented steps with the
// promises of the library about them. The agent runs on a goroutine of its own, whose panics are
// contained. Its context ends with a cause, by a deadline and when the proxy reports that the run is
// over. Bodies are bounded in bytes and time. Secrets are compared by their digests. Each run has a
// client with its token and the pace of that token. What it leaves out is strictness, repeats, the
// transcript, observers and the checks of the response.
type Careful struct {
	token     [sha256.Size]byte
	transport http.RoundTripper
	agent     CarefulAgent

	runs sync.WaitGroup // for a shutdown

	mu    sync.Mutex
	paces map[[sha256.Size]byte]*pace
	swept time.Time
}

// CarefulAgent answers a run.
type CarefulAgent func(ctx context.Context, run Run, client *CarefulClient) (final string, err error)

// NewCareful returns the handler of an agent.
func NewCareful(token string, transport http.RoundTripper, agent CarefulAgent) *Careful {
	return &Careful{
		token: sha256.Sum256([]byte(token)), transport: transport, agent: agent, paces: map[[sha256.Size]byte]*pace{},
	}
}

const (
	maxBody     = 16 << 20
	maxResult   = 1<<20 + 64<<10
	bodyTimeout = 30 * time.Second
	runTimeout  = 298 * time.Second
	grace       = time.Second
)

var errTimeout = errors.New("the time for the run is over")

// ServeHTTP implements http.Handler.
func (h *Careful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	digest := sha256.Sum256([]byte(token))
	if !ok || subtle.ConstantTimeCompare(digest[:], h.token[:]) != 1 {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(arrived.Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_ = connection.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "application/json")
	if bytes.Equal(bytes.TrimSpace(body), []byte(`{"ping":true}`)) {
		_, _ = io.WriteString(w, `{"ok":true}`)
		return
	}
	run, err := readRun(body, r.Header)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	final, err := h.run(r.Context(), arrived, run)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	answer, err := json.Marshal(struct {
		FinalResponse string `json:"final_response"`
	}{final})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(answer)
}

type outcome struct {
	final string
	err   error
}

// run runs the agent, and returns before the time is over whatever the agent does.
func (h *Careful) run(ctx context.Context, arrived time.Time, run Run) (string, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	client, err := h.Client(run, end)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithDeadlineCause(ctx, arrived.Add(runTimeout), errTimeout)
	defer cancel()
	done := make(chan outcome, 1)
	h.runs.Add(1)
	go func() {
		defer h.runs.Done()
		var out outcome
		returned := false
		defer func() {
			if !returned {
				out.err = fmt.Errorf("the agent panicked: %v", recover())
			}
			done <- out
		}()
		out.final, out.err = h.agent(ctx, run, client)
		returned = true
	}()
	select {
	case out := <-done:
		return out.final, out.err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case out := <-done:
		return out.final, out.err
	case <-late.C:
	}
	if cause := context.Cause(ctx); cause != errTimeout {
		return "", cause
	}
	return "The agent ran out of time before it had an answer.", nil
}

// Client returns a client for the calls of a run. It calls end when the proxy reports that the run is over.
func (h *Careful) Client(run Run, end func(error)) (*CarefulClient, error) {
	base, err := url.Parse(strings.TrimRight(run.ProxyURL, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, errors.New("the proxy URL cannot be used")
	}
	return &CarefulClient{
		http: http.Client{Transport: h.transport, Timeout: 120 * time.Second},
		base: base, auth: "Bearer " + run.Token, pace: h.pace(run.Token), end: end,
	}, nil
}

// A CarefulClient calls the tools of one run.
type CarefulClient struct {
	http http.Client
	base *url.URL
	auth string
	pace *pace
	end  func(error)
}

// Call makes a tool call and returns its unwrapped result.
func (c *CarefulClient) Call(ctx context.Context, tool string, args any) (json.RawMessage, error) {
	body, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	if err := c.pace.wait(ctx); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath("tools", tool).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", c.auth)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxResult+1))
	switch {
	case err != nil:
		return nil, err
	case len(answer) > maxResult:
		return nil, errors.New("the result is too large")
	case resp.StatusCode == http.StatusUnauthorized:
		err = errors.New("the run is over")
		c.end(err)
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return Response(answer)
}

// The pace of a run token: at most 60 requests in a minute, across the turns of a session.
const (
	paceLimit  = 60
	paceWindow = time.Minute
	paceIdle   = time.Hour
)

type pace struct {
	mu   sync.Mutex
	sent []time.Time // the latest requests, the earliest first
	used time.Time
}

// pace returns the pace of a run token. It forgets tokens that are idle.
func (h *Careful) pace(token string) *pace {
	key, now := sha256.Sum256([]byte(token)), time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.swept) > paceIdle {
		for k, p := range h.paces {
			if now.Sub(p.used) > paceIdle {
				delete(h.paces, k)
			}
		}
		h.swept = now
	}
	p := h.paces[key]
	if p == nil {
		p = &pace{}
		h.paces[key] = p
	}
	p.used = now
	return p
}

// wait waits until another request may be sent.
func (p *pace) wait(ctx context.Context) error {
	for {
		p.mu.Lock()
		now := time.Now()
		if len(p.sent) < paceLimit {
			p.sent = append(p.sent, now)
			p.mu.Unlock()
			return nil
		}
		left := paceWindow - now.Sub(p.sent[0])
		if left <= 0 {
			p.sent = append(p.sent[:0], p.sent[1:]...)
			p.sent = append(p.sent, now)
			p.mu.Unlock()
			return nil
		}
		p.mu.Unlock()
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}
