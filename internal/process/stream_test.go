package process

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadAtMost(t *testing.T) {
	for _, limit := range []int{1, 10, 511, 512, 513, 5000} {
		for _, size := range []int{0, 1, limit - 1, limit, limit + 1, 2*limit + 1, 20_000} {
			for name, wrap := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader} {
				text := strings.Repeat("0123456789", size/10+1)[:size]
				var s Stream
				overflow := s.readAtMost(wrap(strings.NewReader(text)), limit)
				if overflow != (size > limit) || s.Cut != overflow || string(s.Bytes) != text[:min(size, limit)] {
					t.Errorf("limit %d, %d bytes %s: kept %d, overflow %v, cut %v", limit, size, name, len(s.Bytes), overflow, s.Cut)
				}
				if !overflow && s.Total != int64(size) {
					t.Errorf("limit %d, %d bytes %s: total %d", limit, size, name, s.Total)
				}
			}
		}
	}
}

func TestReadEnds(t *testing.T) {
	for _, limit := range []int{1, 10, 511, 1024} {
		for _, size := range []int{0, limit, limit + 1, 2 * limit, 2*limit + 1, 3*limit + 7, 50_000} {
			for name, wrap := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader} {
				text := strings.Repeat("0123456789", size/10+1)[:size]
				want := text
				if size > limit {
					head := limit / 2
					want = text[:head] + fmt.Sprintf("\n[%d bytes left out]\n", size-limit) + text[size-(limit-head):]
				}
				var s Stream
				s.readEnds(wrap(strings.NewReader(text)), limit)
				if string(s.Bytes) != want || s.Total != int64(size) || s.Cut != (size > limit) {
					t.Errorf("limit %d, %d bytes %s: %d bytes, total %d, cut %v", limit, size, name, len(s.Bytes), s.Total, s.Cut)
				}
			}
		}
	}
}

func TestReadEndsKeepsLittleMemory(t *testing.T) {
	var s Stream
	s.readEnds(io.LimitReader(zeros{}, 64<<20), 64<<10)
	if cap(s.Bytes) > 512<<10 {
		t.Errorf("a buffer of %d bytes for 64 KiB", cap(s.Bytes))
	}
	if !bytes.Contains(s.Bytes, []byte("[67043328 bytes left out]")) {
		t.Error("the gap is not reported")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
