// Package cost holds what a parser allocates to a bound. Allocated bytes do not depend on the speed
// of the machine, and what is quadratic in a document shows in them long before it takes long.
package cost

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
)

// Allocated returns how many bytes f allocates. Other goroutines should not allocate meanwhile.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// slack is for what is allocated once, such as a pool that the garbage collector has emptied.
const slack = 256 << 10

// Within fails t if f, which reads n bytes, allocates more than perByte bytes for each of them, and
// a constant.
func Within(t testing.TB, what string, n, perByte int, f func()) {
	t.Helper()
	if spent := Allocated(f); spent > slack+uint64(n)*uint64(perByte) {
		t.Errorf("%s allocates %d bytes for %d, which is more than %d for each", what, spent, n, perByte)
	}
}

// The numbers of pieces in the documents of [Linear].
const (
	few  = 48
	many = 4 * few
)

// Linear fails t if reading a document of many pieces allocates much more than as many times what
// reading one of few pieces allocates. document returns a document of n pieces. Long pieces are not
// tried, so that fuzzing stays fast.
func Linear(t testing.TB, what string, piece []byte, document func(n int) []byte, read func(doc []byte)) {
	t.Helper()
	if len(piece) > 1<<10 {
		return
	}
	short, long := document(few), document(many)
	read(short) // fills caches and pools
	base, spent := Allocated(func() { read(short) }), Allocated(func() { read(long) })
	if spent > slack+uint64(many/few)*base*3/2 {
		t.Errorf("%s allocates %d bytes for %d, and %d for %d: %.300q", what, base, len(short), spent, len(long), short)
	}
}

// List returns n times piece, separated by commas, between open and end.
func List(open string, piece []byte, end string) func(n int) []byte {
	return func(n int) []byte {
		return append(append([]byte(open), bytes.Join(repeated(piece, n), []byte(","))...), end...)
	}
}

// Members returns an object with n members, each with the value piece, between open and end.
func Members(open string, piece []byte, end string) func(n int) []byte {
	return func(n int) []byte {
		doc := append([]byte(open), '{')
		for i := range n {
			if i > 0 {
				doc = append(doc, ',')
			}
			doc = fmt.Appendf(doc, `"m%d":%s`, i, piece)
		}
		return append(append(doc, '}'), end...)
	}
}

// Lines returns head and n times piece, each a line.
func Lines(head string, piece []byte) func(n int) []byte {
	return func(n int) []byte { return append([]byte(head+"\n"), bytes.Join(repeated(piece, n), []byte("\n"))...) }
}

func repeated(piece []byte, n int) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		list[i] = piece
	}
	return list
}
