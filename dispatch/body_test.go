package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
)

// heldBody is a body whose rest comes only when it is released. It counts what is read of it.
type heldBody struct {
	head    int // bytes that come at once
	release <-chan struct{}
	read    *atomic.Int64 // of all bodies together
	waiting *atomic.Int64 // bodies whose rest is waited for
}

var white = strings.Repeat(" ", 1<<20)

func (b *heldBody) Read(p []byte) (int, error) {
	if b.head == 0 {
		b.waiting.Add(1)
		<-b.release
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p[:min(len(p), b.head)], white)
	b.head -= n
	b.read.Add(int64(n))
	return n, nil
}

// A session replays what its turns have done so far.
func TestALongSessionIsServed(t *testing.T) {
	var rows []string
	for i := range 22 {
		rows = append(rows,
			fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":"c%d","name":"search","arguments":{}}]}`, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%q}`, i, strings.Repeat("x", 60<<10)))
	}
	body := `{"input":{"user_instruction":"go on","session_id":"s","messages":[` + strings.Join(rows, ",") + `]}}`
	if len(body) < 1_300_000 {
		t.Fatalf("the session has only %d bytes", len(body))
	}
	h := newHandler(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		history, err := run.History()
		return &dispatch.Response{FinalResponse: fmt.Sprintf("%d rows, %d bytes", len(history), len(run.Envelope))}, err
	})
	want := fmt.Sprintf(`{"final_response":"45 rows, %d bytes"}`, len(body))
	wantAnswer(t, post(h, body, nil), 200, want)
	wantAnswer(t, post(h, body, func(r *http.Request) { r.ContentLength = -1 }), 200, want)

	open := newHandler(t, answering("x"), func(o *dispatch.Options) { o.Tokens, o.InsecureNoAuth = nil, true })
	wantError(t, post(open, body, nil), 413, toolwire.CodeRequestTooLarge, "1048576 bytes")

	// The limit of middleware is named.
	for _, limit := range []int64{100, 200 << 10} {
		limited := http.MaxBytesHandler(h, limit)
		w := post(limited, body, func(r *http.Request) { r.ContentLength = -1 })
		wantError(t, w, 413, toolwire.CodeRequestTooLarge, fmt.Sprintf("%d bytes, the limit of an http.MaxBytesReader", limit))
	}
}

// Dispatches of the largest size at once: what has arrived stays within 256 MiB, and the rest is
// refused. What is only announced takes no room. Pings and small dispatches pass meanwhile.
func TestBytesInFlightAreBounded(t *testing.T) {
	const size, bound = 16 << 20, 256 << 20
	for _, tt := range []struct {
		name       string
		dispatches int64
		length     int64
		arrived    int
		inFlight   int64
	}{
		{"announced", 1000, size, 64 << 10, 1000},
		{"announced, and a part has arrived", 40, size, 5 << 20, bound/(8<<20) - 1}, // in buffers of a little more than 8 MiB
		{"not announced", 40, -1, 5 << 20, bound/(8<<20) - 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(t, answering("x"))
				release := make(chan struct{})
				var read, waiting, busy, broken atomic.Int64
				var group sync.WaitGroup
				for range tt.dispatches {
					group.Go(func() {
						w := post(h, "", func(r *http.Request) {
							r.Body, r.ContentLength = io.NopCloser(&heldBody{tt.arrived, release, &read, &waiting}), tt.length
						})
						switch w.Code {
						case 503:
							busy.Add(1)
							if w.Header().Get("Retry-After") == "" {
								t.Error("a 503 without Retry-After")
							}
						case 400:
							broken.Add(1)
						default:
							t.Errorf("%d %s", w.Code, w.Body)
						}
					})
					synctest.Wait() // one after the other, so that there is a number to expect
				}
				if waiting.Load() != tt.inFlight || busy.Load() != tt.dispatches-tt.inFlight {
					t.Errorf("%d in flight, %d refused; want %d and %d", waiting.Load(), busy.Load(), tt.inFlight, tt.dispatches-tt.inFlight)
				}
				if most := tt.dispatches * int64(tt.arrived); read.Load() > most {
					t.Errorf("%d bytes have been read, want at most %d", read.Load(), most)
				}
				wantAnswer(t, post(h, `{"ping":true}`, nil), 200, `{"ok":true}`)
				wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"x"}`)
				wantAnswer(t, post(h, bodyOf(64<<10), nil), 200, `{"final_response":"x"}`)
				if large := bodyOf(9 << 20); tt.inFlight < tt.dispatches {
					wantError(t, post(h, large, nil), 503, toolwire.CodeBusy, "Options.MaxBytesInFlight")
				} else {
					wantAnswer(t, post(h, large, nil), 200, `{"final_response":"x"}`)
				}
				close(release)
				group.Wait()
				if broken.Load() != tt.inFlight {
					t.Errorf("%d bodies broke off, want %d", broken.Load(), tt.inFlight)
				}
				wantAnswer(t, post(h, sizedBody(1<<20), nil), 200, `{"final_response":"x"}`) // all room is free again
			})
		})
	}
}

// growingBody sends a part of a body, waits, sends the next, and waits again. Its end never comes. A read that has no
// room for a byte fails: it could be repeated for ever.
type growingBody struct {
	left    int // bytes of the part
	parts   []growingPart
	waiting *atomic.Int64 // bodies that wait for their last part
}

type growingPart struct {
	after <-chan struct{}
	bytes int
}

func (b *growingBody) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, errors.New("a read of no bytes")
	}
	for b.left == 0 {
		if len(b.parts) == 0 {
			return 0, io.ErrUnexpectedEOF
		}
		if len(b.parts) == 1 {
			b.waiting.Add(1)
		}
		<-b.parts[0].after
		b.left, b.parts = b.parts[0].bytes, b.parts[1:]
	}
	n := copy(p[:min(len(p), b.left)], white)
	b.left -= n
	return n, nil
}

// Bodies that have been admitted while they were small need room to grow, too.
func TestBodiesThatGrowTogetherAreBounded(t *testing.T) {
	const dispatches, bound = 8, 8 * (128<<10 + 2) // so that each has a buffer of 128 KiB at first
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, answering("x"), func(o *dispatch.Options) { o.MaxBytesInFlight = bound })
		grow, end := make(chan struct{}), make(chan struct{})
		var waiting, busy, broken atomic.Int64
		var group sync.WaitGroup
		for range dispatches {
			group.Go(func() {
				w := post(h, "", func(r *http.Request) {
					body := &growingBody{100 << 10, []growingPart{{grow, 100 << 10}, {end, 0}}, &waiting}
					r.Body, r.ContentLength = io.NopCloser(body), -1
				})
				switch w.Code {
				case 503:
					busy.Add(1)
				case 400:
					broken.Add(1)
				default:
					t.Errorf("%d %s", w.Code, w.Body)
				}
			})
		}
		synctest.Wait()
		if busy.Load() != 0 {
			t.Fatalf("%d of %d dispatches are refused before they grow", busy.Load(), dispatches)
		}
		close(grow)
		synctest.Wait()
		// Each of them now has a buffer of 256 KiB.
		if n := waiting.Load(); n == 0 || n > bound/(256<<10) || busy.Load() != dispatches-n {
			t.Errorf("%d in flight, %d refused", n, busy.Load())
		}
		close(end)
		group.Wait()
		if broken.Load() != waiting.Load() {
			t.Errorf("%d bodies broke off, want %d", broken.Load(), waiting.Load())
		}
		wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"x"}`)
	})
}

// The agent may keep a body for longer than its run takes to answer.
func TestBytesAreHeldUntilTheAgentReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := sizedBody(80 << 10)
		h := newHandler(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			if len(run.Envelope) > 64<<10 {
				time.Sleep(time.Hour)
			}
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, func(o *dispatch.Options) { o.MaxBytesInFlight = 100 << 10 })
		if w := post(h, body, nil); !strings.Contains(w.Body.String(), "ran out of time") {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		wantError(t, post(h, body, nil), 503, toolwire.CodeBusy, "Options.MaxBytesInFlight")
		wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"done"}`) // for which there is room
		time.Sleep(time.Hour)
		if w := post(h, body, nil); w.Code != 200 {
			t.Errorf("%d %s after the agent has returned", w.Code, w.Body)
		}
		time.Sleep(time.Hour)
	})
}

// A body that has been read before admission needs no more room, not even if the others exceed the bound.
func TestABodyThatIsReadNeedsNoRoom(t *testing.T) {
	const size = 64<<10 + 1
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(time.Minute)
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, func(o *dispatch.Options) { o.MaxBodyBytes, o.MaxBytesInFlight = size, size })
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() { wantAnswer(t, post(h, bodyOf(size), nil), 200, `{"final_response":"done"}`) })
		}
		group.Wait()
	})
}

// What is beyond 64 KiB needs a place in the gate. A smaller ping never does.
func TestLargeBodiesWaitForAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, answering("x"))
		if err := h.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		var read, waiting atomic.Int64
		w := post(h, "", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(&heldBody{1 << 20, nil, &read, &waiting}), 1<<20
		})
		wantError(t, w, 503, toolwire.CodeBusy, "shutting down")
		if read.Load() != 64<<10+1 {
			t.Errorf("%d bytes have been read of a refused body", read.Load())
		}
		for _, ping := range []string{`{"ping":true}`, strings.Repeat(" ", 64<<10-14) + `{"ping":true}`} {
			wantAnswer(t, post(h, ping, nil), 200, `{"ok":true}`)
			wantAnswer(t, post(h, ping, func(r *http.Request) { r.ContentLength = -1 }), 200, `{"ok":true}`)
		}
	})
	h := newHandler(t, answering("x"), func(o *dispatch.Options) { o.MaxRuns = 1 })
	for range 2 { // a large ping needs a place while it is read, and gives it back
		wantAnswer(t, post(h, strings.Repeat(" ", 100<<10)+`{"ping":true}`, nil), 200, `{"ok":true}`)
	}
}

// bodyOf returns a dispatch of n bytes.
func bodyOf(n int) string { return `{"x":"` + strings.Repeat("x", n-8) + `"}` }

func TestLimitsOfBodies(t *testing.T) {
	for _, tt := range []struct {
		name           string
		body, inFlight int64
		largest        int
	}{
		{"own limit", 100 << 10, 0, 100 << 10},
		{"own bound", 0, 100 << 10, 100 << 10},
		{"both", 80 << 10, 100 << 10, 80 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(t, answering("x"), func(o *dispatch.Options) { o.MaxBodyBytes, o.MaxBytesInFlight = tt.body, tt.inFlight })
			for _, length := range []int64{0, -1} {
				change := func(r *http.Request) {
					if length < 0 {
						r.ContentLength = length
					}
				}
				wantAnswer(t, post(h, bodyOf(tt.largest), change), 200, `{"final_response":"x"}`)
				wantError(t, post(h, bodyOf(tt.largest+1), change), 413, toolwire.CodeRequestTooLarge, fmt.Sprint(tt.largest))
			}
		})
	}
	open := newHandler(t, answering("x"), func(o *dispatch.Options) {
		o.Tokens, o.InsecureNoAuth, o.MaxBytesInFlight = nil, true, 2<<20
	})
	wantError(t, post(open, bodyOf(1<<20+1), nil), 413, toolwire.CodeRequestTooLarge, "1048576") // the bound does not raise the limit
	_, err := dispatch.New(answering("x"), &dispatch.Options{Tokens: []string{"a"}, MaxBodyBytes: 101, MaxBytesInFlight: 100})
	if toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || !strings.Contains(err.Error(), "MaxBytesInFlight") {
		t.Errorf("%v", err)
	}
	for name, o := range map[string]dispatch.Options{
		"a limit beyond the default of the bound": {MaxBodyBytes: 1 << 30},
		"the longest run":                         {RunTimeout: 1800 * time.Second},
		"a limit that is the bound":               {MaxBodyBytes: 100, MaxBytesInFlight: 100},
	} {
		o.Tokens = []string{"a"}
		if _, err := dispatch.New(answering("x"), &o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var errBroken = errors.New("broken")

// A body that breaks off after admission gives its place back.
func TestABodyThatBreaksOffGivesItsPlaceBack(t *testing.T) {
	h := newHandler(t, answering("x"), func(o *dispatch.Options) { o.MaxRuns = 1 })
	for range 2 {
		w := post(h, "", func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(strings.Repeat(" ", 100<<10)), broken{}))
			r.ContentLength = 1 << 20
		})
		wantError(t, w, 400, "unreadable_body", "could not be read")
	}
	wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"x"}`)
}

// So does a body whose reader panics, as the one of a middleware may, before or after the dispatch
// is admitted.
func TestABodyThatPanicsGivesItsPlaceBack(t *testing.T) {
	h := newHandler(t, answering("x"), func(o *dispatch.Options) { o.MaxRuns, o.MaxBytesInFlight = 1, 1<<20 })
	for _, head := range []int{0, 100 << 10} {
		func() {
			defer func() {
				if p := recover(); p != http.ErrAbortHandler {
					t.Errorf("after %d bytes: %v", head, p)
				}
			}()
			post(h, "", func(r *http.Request) {
				r.Body = io.NopCloser(io.MultiReader(strings.NewReader(strings.Repeat(" ", head)), panicking{}))
				r.ContentLength = 1 << 20
			})
		}()
		wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"x"}`)
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic(http.ErrAbortHandler) }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }
