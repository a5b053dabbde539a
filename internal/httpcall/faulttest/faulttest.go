// Package faulttest is the table of faults that every outgoing client of this module must survive.
// A row stands in for a peer that misbehaves on a real socket: plain, TLS or HTTP/2.
//
// A client runs the rows against itself:
//
//	for _, row := range faulttest.Sentinels() { // or faulttest.Rows
//		t.Run(row.Name, func(t *testing.T) {
//			row.Run(t, `{"id":1}`, func(ctx context.Context, p faulttest.Peer) {
//				client := newClient(p.URL, p.Transport)
//				err := client.Call(ctx)
//				// compare err with p.Want
//			})
//		})
//	}
//
// The call must make one attempt: a client that repeats is configured not to. Run fails the test if
// the call does not return, if another number of requests arrives than the row says, or if
// the client keeps a connection open. The context of a call ends when the peer has reached the
// place where it stalls, not at a time, so that no result depends on the speed of the machine.
package faulttest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

// An Outcome is how a call must end.
type Outcome int

const (
	Success  Outcome = iota // the good body arrived
	Status                  // an answer with the status Want.Status, without a useful body
	BadBody                 // a complete answer with the status 200, whose body is not the good one
	TooLarge                // a body of more than 1 MiB and 64 KiB
	Broken                  // the transport failed
	Canceled                // the context ended, with the cause ErrStalled
)

// A Delivery is what may be claimed about the request of a failed call.
type Delivery int

const (
	MayHaveRun Delivery = iota // the peer may have acted on the request
	NotSent                    // no complete request can have arrived
	Either                     // the peer has received nothing, but the client may be unable to know that
)

// Want is what a client must report.
type Want struct {
	Outcome  Outcome
	Delivery Delivery
	Status   int // 0 if no answer can have begun; of Broken and Canceled the answer may not have been noticed yet

	// RetryAfter is what the header asks for. For a date it is the longest possible value, and
	// Dated is set.
	RetryAfter time.Duration
	Dated      bool
}

// ErrStalled is the cause of the context of a call whose peer has stalled.
var ErrStalled = errors.New("the peer has stalled")

// A Row is one fault.
type Row struct {
	Name     string
	Want     Want
	Requests int // how many requests arrive at the peer, including the warm-up

	sentinel bool
	warm     bool           // a call that succeeds comes first, over the connection that then fails
	listen   listening      // plain HTTP/1 if it is zero
	connect  func(*session) // handles the whole connection, in place of serve
	serve    func(*session) // answers one request; the connection is closed if it returns after close or reset
}

// A Peer is what a client calls.
type Peer struct {
	URL       string          // without a path
	Transport *http.Transport // must send the requests
	Want      Want
}

// safety is how long a call may take before the test is given up. No result depends on it.
const safety = 3 * time.Minute

// Rows returns all faults.
func Rows() []Row {
	var rows []Row
	for _, some := range [][]Row{connections(), heads(), bodies(), informational(), statuses(), retryAfter(),
		keepAlive(), http2()} {
		rows = append(rows, some...)
	}
	return rows
}

// Sentinels returns the faults that every client must run. The rest differ only inside net/http and
// package httpcall.
func Sentinels() []Row {
	var rows []Row
	for _, r := range Rows() {
		if r.sentinel {
			rows = append(rows, r)
		}
	}
	return rows
}

// Run runs the row against call. good is a body that the client accepts with the status 200. It
// must be JSON of at least 10 bytes.
func (r Row) Run(t testing.TB, good string, call func(ctx context.Context, p Peer)) {
	t.Helper()
	s := newServer(t, r, good)
	defer s.close()
	client := &dialer{closed: make(chan struct{}, 1)}
	transport := httpcall.NewTransport()
	transport.DialContext = client.dial
	s.configure(transport)
	if r.warm {
		s.attempt(t, call, Peer{s.url, transport, Want{}})
	}
	s.attempt(t, call, Peer{s.url, transport, r.Want})
	if got := int(s.requests.Load()); got != r.Requests {
		t.Errorf("%d requests arrived, want %d", got, r.Requests)
	}
	client.wait(t, transport)
}

// attempt makes one call with a context that ends when the peer stalls.
func (s *server) attempt(t testing.TB, call func(ctx context.Context, p Peer), p Peer) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s.stalled.Store(&cancel)
	give := time.AfterFunc(safety, func() {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		panic("faulttest: " + s.row.Name + ": the call did not return")
	})
	defer give.Stop()
	call(ctx, p)
}

// dialer counts the connections that the client has open.
type dialer struct {
	open   atomic.Int64
	closed chan struct{}
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.open.Add(1)
	return &dialled{Conn: conn, dialer: d}, nil
}

// wait fails the test if the client leaves a connection open: each has goroutines of the transport.
func (d *dialer) wait(t testing.TB, transport *http.Transport) {
	t.Helper()
	limit := time.NewTimer(safety)
	defer limit.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for d.open.Load() > 0 {
		transport.CloseIdleConnections() // a canceled stream of HTTP/2 gives its connection back a moment after the call
		select {
		case <-d.closed:
		case <-again.C:
		case <-limit.C:
			t.Errorf("the client keeps %d connections", d.open.Load())
			return
		}
	}
}

type dialled struct {
	net.Conn
	dialer *dialer
	once   sync.Once
}

func (c *dialled) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.dialer.open.Add(-1)
		select {
		case c.dialer.closed <- struct{}{}:
		default:
		}
	})
	return err
}
