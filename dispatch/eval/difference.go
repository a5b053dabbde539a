package eval

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// An Edit is one step from a trajectory to another. If Removed and Added are both set, the call has
// other arguments.
type Edit struct {
	// At is the index of the call in the first trajectory that is removed, or before which a call is
	// added.
	At      int   `json:"at"`
	Removed *Call `json:"removed,omitempty"`
	Added   *Call `json:"added,omitempty"`
}

// Difference is the edits that change one trajectory into another. [Trajectory.Diff] returns it.
type Difference []Edit

// maxCells bounds the table of a difference.
const maxCells = 4 << 20

// Diff returns the edits that change t into other: [Difference.Apply] on t returns other. There are
// as few edits as possible. If the parts that differ have more than 2,000 calls on both sides, all
// calls of these parts are replaced. Calls are equal if their arguments are equal as JSON values.
func (t Trajectory) Diff(other Trajectory) Difference {
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
	var d Difference
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case common != nil && i < len(a) && j < len(b) && x[i] == y[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && (common == nil || common[(i+1)*width+j] >= common[i*width+j+1]):
			d = append(d, Edit{At: begin + i, Removed: &a[i]})
			i++
		default:
			d = d.add(Edit{At: begin + i, Added: &b[j]})
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
func (d Difference) add(e Edit) Difference {
	if n := len(d); n > 0 && d[n-1].Added == nil && d[n-1].At == e.At-1 && d[n-1].Removed.Tool == e.Added.Tool {
		d[n-1].Added = e.Added
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

// Apply applies the edits to t and returns the result. It returns an error if t is not the
// trajectory that the difference was made from.
func (d Difference) Apply(t Trajectory) (Trajectory, error) {
	result, next := make(Trajectory, 0, len(t)), 0
	for n, e := range d {
		if e.At < next || e.At > len(t) || e.Removed != nil && (e.At == len(t) || !t[e.At].equal(*e.Removed)) {
			return nil, fmt.Errorf("eval: edit %d of the difference does not fit: it was made of another trajectory", n+1)
		}
		result = append(result, t[next:e.At]...)
		next = e.At
		if e.Removed != nil {
			next++
		}
		if e.Added != nil {
			result = append(result, *e.Added)
		}
	}
	return append(result, t[next:]...), nil
}

// String returns one line for each edit: "-" for a call that is removed, "+" for one that is added,
// "~" with the arguments that changed. Calls are counted from 1.
func (d Difference) String() string {
	var b strings.Builder
	for _, e := range d {
		switch {
		case e.Removed == nil:
			fmt.Fprintf(&b, "+ %d %s\n", e.At+1, e.Added)
		case e.Added == nil:
			fmt.Fprintf(&b, "- %d %s\n", e.At+1, e.Removed)
		default:
			fmt.Fprintf(&b, "~ %d %s", e.At+1, e.Added.Tool)
			for _, diff := range rawjson.Diff(e.Removed.Arguments, e.Added.Arguments) {
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
