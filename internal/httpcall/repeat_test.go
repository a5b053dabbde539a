package httpcall_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for _, tt := range []struct {
			values []string
			want   time.Duration
			known  bool
		}{
			{nil, 0, false},
			{[]string{""}, 0, false},
			{[]string{"soon"}, 0, false},
			{[]string{"-"}, 0, false},
			{[]string{"1-2"}, 0, false},
			{[]string{"1e3"}, 0, false},
			{[]string{"0x10"}, 0, false},
			{[]string{"NaN"}, 0, false},
			{[]string{"0"}, 0, true},
			{[]string{"7"}, 7 * time.Second, true},
			{[]string{" 007 "}, 7 * time.Second, true},
			{[]string{"-5"}, 0, true},
			{[]string{"0.25"}, 250 * time.Millisecond, true},
			{[]string{"99999999999"}, httpcall.LongestWait, true},
			{[]string{strings.Repeat("9", 500)}, httpcall.LongestWait, true},
			{[]string{"-" + strings.Repeat("9", 500)}, 0, true},
			{[]string{date(time.Minute)}, time.Minute, true},
			{[]string{date(-time.Hour)}, 0, true},
			{[]string{"Fri, 31 Dec 9999 23:59:59 GMT"}, httpcall.LongestWait, true},
			{[]string{"5", "120"}, 2 * time.Minute, true},
			{[]string{"120", "5"}, 2 * time.Minute, true},
			{[]string{"5, 120"}, 2 * time.Minute, true},
			{[]string{"5", "soon"}, 5 * time.Second, true},
			{[]string{"5", date(time.Minute)}, time.Minute, true},
		} {
			got, known := httpcall.RetryAfter(http.Header{"Retry-After": tt.values})
			if got != tt.want || known != tt.known {
				t.Errorf("%q: %s, %t; want %s, %t", tt.values, got, known, tt.want, tt.known)
			}
		}
	})
}

func TestRepeat(t *testing.T) {
	cause := errors.New("the user pressed stop")
	for _, tt := range []struct {
		name     string
		next     httpcall.Next
		limit    time.Duration // of the context
		cancel   time.Duration
		attempts int
		reason   httpcall.Reason
		low      time.Duration
		high     time.Duration
		text     string
	}{
		{name: "final", attempts: 1, reason: httpcall.Final},
		{name: "exhausted", next: httpcall.Next{Again: true}, attempts: 4, reason: httpcall.Exhausted,
			low: 2625 * time.Millisecond, high: 4375 * time.Millisecond},
		{name: "as asked", next: httpcall.Next{Again: true, After: 10 * time.Second}, attempts: 4,
			reason: httpcall.Exhausted, low: 30 * time.Second, high: 30 * time.Second},
		{name: "asks for the limit", next: httpcall.Next{Again: true, After: time.Minute}, attempts: 4,
			reason: httpcall.Exhausted, low: 3 * time.Minute, high: 3 * time.Minute},
		{name: "asks for more", next: httpcall.Next{Again: true, After: time.Minute + 1}, attempts: 1,
			reason: httpcall.TooLong,
			text:   "the peer asks to wait 1m0.000000001s, more than the limit of 1m0s"},
		{name: "deadline", next: httpcall.Next{Again: true, After: 10 * time.Second}, limit: 15 * time.Second,
			attempts: 2, reason: httpcall.TooLate,
			low: 10 * time.Second, high: 10 * time.Second,
			text: "the next attempt is due in 10s, after the call's deadline"},
		{name: "deadline with the end of a wait", next: httpcall.Next{Again: true, After: 10 * time.Second},
			limit: 20 * time.Second, attempts: 2, reason: httpcall.TooLate,
			low: 10 * time.Second, high: 10 * time.Second,
			text: "the next attempt is due in 10s, after the call's deadline"},
		{name: "canceled", next: httpcall.Next{Again: true, After: 10 * time.Second}, cancel: 12 * time.Second,
			attempts: 2, reason: httpcall.Stopped,
			low: 12 * time.Second, high: 12 * time.Second, text: "context canceled: the user pressed stop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, func() { cancel(cause) })
				}
				if tt.limit > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, tt.limit)
					defer stop()
				}
				p := httpcall.Policy{Peer: "the peer", MaxAttempts: 4}
				start, made, waits := time.Now(), 0, 0
				stop := p.Repeat(ctx, func(number int) httpcall.Next {
					if made++; number != made {
						t.Errorf("attempt %d has the number %d", made, number)
					}
					return tt.next
				}, func(number int, wait time.Duration) {
					if waits++; number != made || wait <= 0 {
						t.Errorf("a wait of %s after attempt %d", wait, number)
					}
				})
				took := time.Since(start)
				if made != tt.attempts || stop.Reason != tt.reason || took < tt.low || took > tt.high {
					t.Errorf("%d attempts, reason %d, %s", made, stop.Reason, took)
				}
				if tt.text == "" && stop.Err != nil || tt.text != "" &&
					(stop.Err == nil || stop.Err.Error() != tt.text) {
					t.Errorf("err = %v, want %q", stop.Err, tt.text)
				}
				if tt.reason == httpcall.Stopped &&
					(!errors.Is(stop.Err, cause) || !errors.Is(stop.Err, context.Canceled)) {
					t.Errorf("err = %v", stop.Err)
				}
			})
		})
	}
}

// No wait exceeds 4 seconds, although the library adds its jitter after its own bound, and the longest
// come near.
func TestWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		longest := time.Duration(0)
		p := httpcall.Policy{MaxAttempts: 200}
		p.Repeat(t.Context(), func(int) httpcall.Next { return httpcall.Next{Again: true} },
			func(_ int, wait time.Duration) { longest = max(longest, wait) })
		if longest > 4*time.Second || longest < 3800*time.Millisecond {
			t.Errorf("the longest of 199 waits is %s", longest)
		}
	})
}
