//go:build unix

package process

import (
	"os"
	"testing"
)

// What a pipe holds is read whole, however late the reader comes, and the reader does not wait for more.
func TestOutputReadsWhatThePipeHolds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		size   int
		closed bool
	}{
		{"nothing, open", 0, false}, {"nothing, closed", 0, true}, {"some, open", 60_000, false}, {"some, closed", 60_000, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.Close() }()
			defer func() { _ = w.Close() }()
			if _, err := w.Write(make([]byte, tt.size)); err != nil {
				t.Fatal(err)
			}
			if tt.closed {
				_ = w.Close()
			}
			wake(r) // the program has ended before the reader began
			var s Stream
			o := newOutput(r)
			if overflow := s.readAtMost(o, 1<<20); overflow || len(s.Bytes) != tt.size || o.open == tt.closed {
				t.Errorf("%d bytes, overflow %t, open %t", len(s.Bytes), overflow, o.open)
			}
		})
	}
}

// A reader that waits for output stops when it is woken.
func TestOutputStopsWaiting(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	defer func() { _ = w.Close() }()
	o, done := newOutput(r), make(chan Stream)
	go func() {
		var s Stream
		s.readEnds(o, 1<<20)
		done <- s
	}()
	if _, err := w.Write([]byte("last words")); err != nil {
		t.Fatal(err)
	}
	wake(r)
	if s := <-done; string(s.Bytes) != "last words" || !o.open {
		t.Errorf("%q, open %t", s.Bytes, o.open)
	}
}

// A process that writes as fast as it is read is left.
func TestOutputLeavesAnEndlessWriter(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	if _, err := w.Write(make([]byte, 60_000)); err != nil {
		t.Fatal(err)
	}
	wake(r)
	var s Stream
	o := newOutput(r)
	o.left = 1000
	if s.readEnds(o, 1<<20); !o.open || s.Total < 1000 || s.Total > 10_000 {
		t.Errorf("open %t after %d bytes", o.open, s.Total)
	}
}
