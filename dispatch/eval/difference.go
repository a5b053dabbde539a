package eval

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// An edit is one step from a trajectory to another. If removed and added are both set, the call has
// other arguments.
type edit struct {
	at             int // of the call in the first trajectory that is removed, or before which one is added
	removed, added *Call
}

// difference is the edits that change one trajectory into another.
type difference []edit

// maxCells bounds the table of a difference.
const maxCells = 4 << 20

// Diff returns how the trajectory differs from another, in lines for people: "-" for a call that is
// removed, "+" for one that is added, "~" with the arguments that changed. Calls are counted from 1. There
// are as few lines as possible. If the parts that differ have more than 2,000 calls on both sides, all
// calls of these parts are replaced. Calls are equal if their arguments are equal as JSON values.
func (t Trajectory) Diff(other Trajectory) string { return t.difference(other).String() }

// difference returns the edits that change t into other.
func (t Trajectory) difference(other Trajectory) difference {
	begin := 0
	for begin < len(t) && begin < len(other) && t[begin].equal(other[begin]) {
		begin++
	}
	a, b := t[begin:], other[begin:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1].equal(b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	// Calls are read once and compared by number: each with each would take too long if they are large.
	numbers := map[string]int{}
	x, y := numbered(a, numbers), numbered(b, numbers)
	// common[i][j] is the number of equal calls in a longest common subsequence of a[i:] and b[j:].
	width := len(b) + 1
	var common []int32
	if (len(a)+1)*width <= maxCells {
		common = make([]int32, (len(a)+1)*width)
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if x[i] == y[j] {
					common[i*width+j] = common[(i+1)*width+j+1] + 1
				} else {
					common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
				}
			}
		}
	}
	var d difference
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case common != nil && i < len(a) && j < len(b) && x[i] == y[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && (common == nil || common[(i+1)*width+j] >= common[i*width+j+1]):
			d = append(d, edit{at: begin + i, removed: &a[i]})
			i++
		default:
			d = d.add(edit{at: begin + i, added: &b[j]})
			j++
		}
	}
	return d
}

// numbered returns a number for each call. Equal calls have the same.
func numbered(calls []Call, known map[string]int) []int {
	list := make([]int, len(calls))
	for i, c := range calls {
		key := strconv.Quote(c.Tool)
		if c.Arguments != nil {
			key += rawjson.Key(c.Arguments)
		}
		n, is := known[key]
		if !is {
			n = len(known)
			known[key] = n
		}
		list[i] = n
	}
	return list
}

// add appends a call that is added. After a call of the same tool that was removed at the same place,
// it is a change of its arguments.
func (d difference) add(e edit) difference {
	if n := len(d); n > 0 && d[n-1].added == nil && d[n-1].at == e.at-1 && d[n-1].removed.Tool == e.added.Tool {
		d[n-1].added = e.added
		return d
	}
	return append(d, e)
}

func (c Call) equal(other Call) bool {
	if c.Tool != other.Tool || (c.Arguments == nil) != (other.Arguments == nil) {
		return false
	}
	return c.Arguments == nil || rawjson.Equal(c.Arguments, other.Arguments)
}

func (d difference) String() string {
	var b strings.Builder
	for _, e := range d {
		switch {
		case e.removed == nil:
			fmt.Fprintf(&b, "+ %d %s\n", e.at+1, e.added)
		case e.added == nil:
			fmt.Fprintf(&b, "- %d %s\n", e.at+1, e.removed)
		default:
			fmt.Fprintf(&b, "~ %d %s", e.at+1, e.added.Tool)
			for _, diff := range rawjson.Diff(e.removed.Arguments, e.added.Arguments) {
				fmt.Fprintf(&b, " %s: %s -> %s", diff.Pointer, orNothing(diff.Before), orNothing(diff.After))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func orNothing(value json.RawMessage) string {
	if len(value) == 0 {
		return "nothing"
	}
	return string(value)
}
