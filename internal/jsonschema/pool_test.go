package jsonschema

import (
	"runtime"
	"testing"
)

// A copy is made when the others are busy, up to one for each processor, and serves again when it is given back.
func TestPool(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	s, faults := Compile([]byte(`{"type":"object","properties":{"a":{"pattern":"^x"}}}`), nil)
	if s == nil {
		t.Fatal(faults)
	}
	for range 10 {
		if err := s.Validate([]byte(`{"a":"x"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if made := s.copies.made.Load(); made != 1 {
		t.Errorf("%d copies for one validation after the other", made)
	}
	busy := []*compiledSchema{s.copies.take(), s.copies.take(), s.copies.take()}
	if busy[0].root == busy[1].root || busy[1].counter == busy[2].counter {
		t.Error("copies share the library's schema or a counter")
	}
	waited := make(chan *compiledSchema)
	go func() { waited <- s.copies.take() }()
	s.copies.giveBack(busy[1])
	if got := <-waited; got != busy[1] {
		t.Error("the copy that was given back does not serve again")
	}
	if made := s.copies.made.Load(); made != 3 {
		t.Errorf("%d copies, want 3", made)
	}
}

// A validation that is stopped gives its copy back.
func TestPoolAfterALimit(t *testing.T) {
	s, _ := Compile([]byte(`{"items":{"type":"string"}}`), &Options{Limits: Limits{Steps: 2}})
	for range 3 {
		if err := s.Validate([]byte(`["a","b","c"]`)); err == nil {
			t.Fatal("no limit")
		}
		if err := s.Validate([]byte(`["a"]`)); err != nil {
			t.Fatal(err)
		}
	}
	if made := s.copies.made.Load(); made != 1 || len(s.copies.free) != 1 {
		t.Errorf("%d copies, %d free; want one", made, len(s.copies.free))
	}
}
