package problem_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/problem"
)

type own struct {
	Tool    string `json:"tool,omitempty"`
	Code    string `json:"code"`
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

func TestPrinting(t *testing.T) {
	for want, p := range map[string]problem.Problem{
		"is empty [empty]":                      {Code: "empty", Message: "is empty"},
		"/a/0 is empty [empty]":                 {Code: "empty", Pointer: "/a/0", Message: "is empty"},
		`tool "x\ny": /0/name is empty [empty]`: {Tool: "x\ny", Code: "empty", Pointer: "/0/name", Message: "is empty"},
		`tool "x": is empty [empty]`:            {Tool: "x", Code: "empty", Message: "is empty"},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestLists(t *testing.T) {
	var list problem.List[own]
	list.Add("a", "/x", "must be %d", 7)
	list.AddTool("t", "b", "", "100%% wrong")
	part := []problem.Problem{{Tool: "u", Code: "c", Pointer: "/y", Message: "is %s"}}
	problem.Under(&list, "/z", part, 0)
	want := []own{{"", "a", "/x", "must be 7"}, {"t", "b", "", "100% wrong"}, {"u", "c", "/z/y", "is %s"}}
	if fmt.Sprint(list.Found) != fmt.Sprint(want) || part[0].Pointer != "/y" {
		t.Errorf("got %v, want %v", list, want)
	}
}

func TestLines(t *testing.T) {
	p := problem.Problem{Code: "c", Message: "is wrong"}
	for _, tt := range []struct {
		list []problem.Problem
		more int
		want string
	}{
		{[]problem.Problem{p}, 0, "is wrong [c]"},
		{[]problem.Problem{p, p}, 0, "2 problems:\n  - is wrong [c]\n  - is wrong [c]"},
		{[]problem.Problem{p}, 2, "3 problems:\n  - is wrong [c]\n  - and 2 more"},
		{[]problem.Problem{p}, 1, "2 problems:\n  - is wrong [c]\n  - and 1 more"},
	} {
		if got := problem.Lines(tt.list, tt.more); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestElement(t *testing.T) {
	for _, tt := range []struct {
		pointer string
		i       int
		rest    string
	}{
		{"/2/name", 2, "/name"}, {"/0", 0, ""}, {"/10/a/b", 10, "/a/b"}, {"/3/", 3, "/"}, {"", -1, ""}, {"/", -1, "/"},
		{"/name", -1, "/name"}, {"2/name", -1, "2/name"}, {"/-1", -1, "/-1"}, {"/+1", -1, "/+1"}, {"/99999999999", -1, "/99999999999"},
	} {
		if i, rest := problem.Element(tt.pointer); i != tt.i || rest != tt.rest {
			t.Errorf("Element(%q) = %d, %q", tt.pointer, i, rest)
		}
	}
}

func TestContextCode(t *testing.T) {
	for want, errs := range map[string][]error{
		"deadline": {context.DeadlineExceeded, fmt.Errorf("%w: %w", context.DeadlineExceeded, errors.New("the budget")),
			fmt.Errorf("%w: %w", context.DeadlineExceeded, context.Canceled)},
		"canceled": {context.Canceled, fmt.Errorf("%w: %w", context.Canceled, errors.New("enough")),
			fmt.Errorf("%w: %w", context.Canceled, context.DeadlineExceeded), errors.New("the run is over")},
	} {
		for _, err := range errs {
			if got := problem.ContextCode[string](err); got != want {
				t.Errorf("%v: code %s, want %s", err, got, want)
			}
		}
	}
}

func TestLimit(t *testing.T) {
	var got []string
	reject := func(name, rule string) { got = append(got, name+" "+rule) }
	limit := func(n, def int) int { problem.Limit(reject, "N", &n, def); return n }
	wait := -time.Second
	problem.Limit(reject, "Wait", &wait, 30*time.Second)
	for _, tt := range []struct{ n, def, want int }{{0, 4, 4}, {1, 4, 1}, {0, 0, 0}, {2, 0, 2}, {-1, 4, -1}, {-1, 0, -1}} {
		if n := limit(tt.n, tt.def); n != tt.want {
			t.Errorf("%d with the default %d: %d, want %d", tt.n, tt.def, n, tt.want)
		}
	}
	want := []string{"Wait must not be negative; use 0 for the default of 30s", "N must not be negative; use 0 for the default of 4",
		"N must not be negative; use 0 for no limit"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
