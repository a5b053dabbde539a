package bounded

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Undeclared says that a name is not one of the declared ones, and which one is meant. It returns ""
// if the name is declared, or if none is: then every name is allowed.
func Undeclared(name string, declared []string) string {
	if len(declared) == 0 || slices.Contains(declared, name) {
		return ""
	}
	return fmt.Sprintf("%s is not declared; %s", Name(name), Meant(name, declared))
}

// Meant names the declared name that is nearest to another one, or all if none is near.
func Meant(name string, declared []string) string {
	if nearest := Nearest(name, declared); nearest != "" {
		return "did you mean " + Name(nearest) + "?"
	}
	return "declared: " + List(declared)
}

// Name returns a name from outside for a sentence: as it is if it looks like a name or a path of
// names, or else quoted.
func Name(name string) string {
	if len(name) > 64 || Code(strings.ReplaceAll(name, "/", "")) == "" {
		return Quoted(name, 64)
	}
	return name
}

// List returns the first ten names, separated by commas, and how many more there are. It returns
// "none" for no names.
func List(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	const most = 10
	shown := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, Name(name))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// Nearest returns the known name that another one is probably meant to be, or "". Case and
// separators of words do not count.
func Nearest(name string, known []string) string {
	if len(name) > 256 {
		return ""
	}
	for _, k := range known {
		if k != name && words(k) == words(name) {
			return k
		}
	}
	nearest, least := "", math.MaxInt
	for _, k := range known {
		if a, b := strings.ToLower(name), strings.ToLower(k); Misspelt(a, b) {
			if n := edits([]rune(a), []rune(b)); n < least {
				nearest, least = k, n
			}
		}
	}
	return nearest
}

// words returns a name in lower case without what separates its words.
func words(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(name))
}

// Misspelt reports whether a name differs from a known one by at most two letters. In a short name
// one letter may be missing, extra or misplaced, but not another: stage is not state.
func Misspelt(name, known string) bool {
	a, b := []rune(name), []rune(known)
	if len(b) > 6 {
		return edits(a, b) <= 2
	}
	return edits(a, b) == 1 && (len(a) != len(b) || sameLetters(a, b))
}

func sameLetters(a, b []rune) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// edits returns the number of letters to insert, delete, replace or swap with their neighbour to
// get from a to b.
func edits(a, b []rune) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(next[j]+1, row[j+1]+1, row[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
