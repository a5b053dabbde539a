package capture_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toolwire/toolwire/dispatch/capture"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/cost"
)

// twoSessions is a file with two captures.
func twoSessions(t *testing.T) string {
	var out lines
	for range 2 {
		record := capture.New(&out, nil)
		dispatchRun(t, record, refund, dispatchtest.Task{}).AssertOK(t)
		closed(t, record, &out)
	}
	return out.String()
}

// A file may have several captures. Each line has its number in the file.
func TestReadSeveralCaptures(t *testing.T) {
	text := twoSessions(t)
	records, err := capture.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	sessions := map[int]int{}
	for _, r := range records {
		sessions[r.Session]++
		if line := strings.Split(text, "\n")[r.Line-1]; !strings.Contains(line, `"kind":"`+r.Kind+`"`) {
			t.Errorf("line %d is %s, not of the kind %s", r.Line, line, r.Kind)
		}
	}
	if want := map[int]int{1: 12, 2: 12}; !reflect.DeepEqual(sessions, want) {
		t.Errorf("records by session: %v, want %v", sessions, want)
	}
}

// A file whose process was killed is read up to there, wherever it ends, and says so. A capture
// that is appended to it is read whole.
func TestReadAnIncompleteFile(t *testing.T) {
	text := twoSessions(t)
	whole, _ := capture.Read(strings.NewReader(text))
	for _, n := range []int{0, 1, 4, 11, 12, len(whole) - 1} {
		before := strings.Join(strings.Split(text, "\n")[:whole[n].Line-1], "\n")
		cut := len(before) + len(strings.Split(text, "\n")[whole[n].Line-1])/2
		records, err := capture.Read(strings.NewReader(text[:cut]))
		if err != nil {
			t.Fatal(err)
		}
		last := len(records) - 1
		if !reflect.DeepEqual(records[:last], whole[:last]) {
			t.Errorf("cut at %d: the %d complete lines are not read as in the whole file", cut, last)
		}
		if r := records[last]; last != n || r.Kind != "broken" || r.Line != whole[last].Line || !strings.HasPrefix(r.Problem, "it is incomplete") {
			t.Errorf("cut at %d: the last record is %+v", cut, r)
		}
		again, err := capture.Read(strings.NewReader(text[:cut] + text))
		if err != nil || len(again) != len(records)+len(whole) || again[last].Kind != "broken" {
			t.Errorf("cut at %d, with a capture behind: %d records, %v", cut, len(again), err)
		}
	}
}

func TestReadLinesThatAreNotOfACapture(t *testing.T) {
	for line, want := range map[string]string{
		`{"kind":"request"`:                "it is incomplete: it is not valid JSON",
		"{\"kind\":\"request\"\n":          "it is not valid JSON",
		"7\n":                              "it is not a line of a capture",
		"{}\n":                             "it is not a line of a capture",
		"{\"kind\":\"tape\"}\n":            "it is not a line of a capture",
		"{\"kind\":\"broken\"}\n":          "it is not a line of a capture",
		"{\"kind\":7}\n":                   "it is not a line of a capture",
		"{\"kind\":\"start\"}\n":           "it begins a capture of another version",
		"\"" + strings.Repeat("x", 33<<20): "it has more than 32 MiB",
	} {
		records, err := capture.Read(strings.NewReader(line))
		if err != nil || len(records) != 1 || records[0].Kind != "broken" || records[0].Problem != want {
			t.Errorf("%.40s: %d records, %v", line, len(records), err)
		}
	}
	disk := errors.New("disk")
	records, err := capture.Read(iotest.TimeoutReader(strings.NewReader(twoSessions(t))))
	if len(records) == 0 || err == nil {
		t.Errorf("%d records, %v", len(records), err)
	}
	if records, err := capture.Read(iotest.ErrReader(disk)); len(records) != 0 || !errors.Is(err, disk) {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// FuzzRead: every line that is not empty is one record.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\n{\"kind\":\"start\",\"time\":\"2026-11-22T08:00:00Z\",\"version\":1}\n{\"kind\":\"end\"}\n"))
	f.Add([]byte("{\"kind\":\"request\",\"headers\":{\"A\":[\"b\"]},\"body\":{\"bytes\":1,\"json\":{}}}\r\n{\"kind"))
	f.Fuzz(func(t *testing.T, file []byte) {
		cost.Linear(t, "Read", file, cost.Lines("", file), func(doc []byte) { _, _ = capture.Read(bytes.NewReader(doc)) })
		records, err := capture.Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range bytes.Lines(file) {
			if len(bytes.TrimSpace(line)) > 0 {
				n++
			}
		}
		if len(records) != n {
			t.Errorf("%d records of %d lines", len(records), n)
		}
		session := 0
		for _, r := range records {
			if r.Session < session || r.Line == 0 || (r.Kind == "broken") != (r.Problem != "") {
				t.Errorf("%+v", r)
			}
			session = r.Session
		}
	})
}

// spaces is a line of many spaces, which would be left out if it were shorter.
type spaces struct{ left int }

func (s *spaces) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), s.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	s.left -= n
	return n, nil
}

// The rest of a line of more than 32 MiB is skipped.
func TestReadALongLine(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	list, err := capture.Read(io.MultiReader(&spaces{256 << 20}, strings.NewReader("\n{}\n")))
	runtime.ReadMemStats(&after)
	if err != nil || len(list) != 2 || list[0].Problem != "it has more than 32 MiB" || list[1].Line != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 400<<20 {
		t.Errorf("allocated %d MiB for a line of 256 MiB", used>>20)
	}
}
