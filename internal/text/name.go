package text

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Declared are the names that a world declares. Any name may be used where a list is empty.
type Declared struct {
	Tools    []string // sorted; empty if undeclared ones may be used
	Executed []string // the tools that run where the agent runs, sorted: their calls do not reach the proxy
	Entities []string // the entity types of the ledger schema
	Flags    []string // the flags, if the ledger schema closes them

	IDFields  map[string]string   // by entity type: the field that identifies an entity
	Arguments map[string][]string // by tool: its arguments, if its schema names them under "properties" only
}

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
		return Quote(name, 64)
	}
	return name
}

// Code returns s if it looks like a code that a peer uses for a kind of error: at most 64 letters,
// digits, '_', '-', '.' and ':'. Otherwise it returns "".
func Code(s string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:"
	if len(s) > 64 || strings.Trim(s, allowed) != "" {
		return ""
	}
	return s
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
	joined, lower := words(name), []rune(strings.ToLower(name))
	nearest, least := "", math.MaxInt
	for _, k := range known {
		if k != name && words(k) == joined {
			return k
		}
		if n := distance(lower, []rune(strings.ToLower(k))); n > 0 && n < least {
			nearest, least = k, n
		}
	}
	return nearest
}

// words returns a name in lower case without what separates its words.
func words(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Misspelt reports whether a name differs from a known one by at most two letters. In a short name
// one letter may be missing, extra or misplaced, but not another: stage is not state.
func Misspelt(name, known string) bool { return distance([]rune(name), []rune(known)) > 0 }

// distance returns the number of edits by which a misspelled name differs from a known one, or 0 if it
// is the known one or another name.
func distance(name, known []rune) int {
	longer := len(name) - len(known)
	if longer < -2 || longer > 2 {
		return 0
	}
	switch n := edits(name, known); {
	case len(known) > 6 && n <= 2, n == 1 && (longer != 0 || sameLetters(name, known)):
		return n
	}
	return 0
}

func sameLetters(a, b []rune) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// edits returns the number of letters to insert, delete, replace or swap with their neighbour to
// get from a to b.
func edits(a, b []rune) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
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
		before, row, next = row, next, before
	}
	return row[len(b)]
}

// Plural returns a number and a noun, such as 1 case, 2 cases, 2 dispatches and 2 properties.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		noun += "e"
	} else if stem, is := strings.CutSuffix(noun, "y"); is {
		noun = stem + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
