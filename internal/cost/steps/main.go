// Command steps counts the steps of every parser of outside text and holds them to the length of the
// text:
//
//	GOCOVERDIR=$(mktemp -d) go run -cover -covermode=atomic -coverpkg=./... ./internal/cost/steps
//
// A step is a basic block that is executed: the compiler counts them for test coverage, in the
// packages of -coverpkg. They do not depend on the speed of the machine. For each parser the command
// builds documents of n and of 4n equal pieces: known pieces, and variants of these that follow from
// -seed. The longer document may take six times as many steps. If it takes more, the command prints
// the piece and exits with status 1. At first it checks itself with a function that is quadratic.
//
// The fuzz targets of the parsers find what allocates too much, guided by coverage. This command finds
// what computes too much.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// slack is how many steps a longer document may take beyond its share. What is done once is less.
const slack = 20_000

// characters are those that mean something to a parser.
const characters = "\"\\{}[],:0-.eE \n\t'#$@*_a\x00\xff"

// maxPiece bounds a piece in bytes, and so the time for one measurement.
const maxPiece = 200

// A parser reads a document. Errors of the document do not matter.
type parser struct {
	name   string
	shapes []shape
	pieces []string // known ones
	read   func(doc []byte)
}

// budgets are how many steps some parsers may take in any case: they count their own work and stop.
var budgets = map[string]uint64{
	"defaults.Of": 5_000_000, // 100,000 parts and properties that are combined
}

// A shape is how pieces become a document.
type shape struct {
	open, separator, end string
	named                bool // each piece is a member of an object
}

func (s shape) document(piece []byte, n int) []byte {
	doc := []byte(s.open)
	for i := range n {
		if i > 0 {
			doc = append(doc, s.separator...)
		}
		if s.named {
			doc = fmt.Appendf(doc, `"m%d":`, i)
		}
		doc = append(doc, piece...)
	}
	return append(doc, s.end...)
}

// list, object and text are shapes of JSON, inside of open and end.
func list(open, end string) shape   { return shape{open + "[", ",", "]" + end, false} }
func object(open, end string) shape { return shape{open + "{", ",", "}" + end, true} }
func text(open, end string) shape   { return shape{open + `"`, "", `"` + end, false} }

// lines is a shape of lines after a first one.
func lines(head string) shape { return shape{head + "\n", "\n", "\n", false} }

func main() {
	seed := flag.Uint64("seed", 1, "seed of the variants")
	variants := flag.Int("n", 40, "variants for each shape of a parser")
	pieces := flag.Int("pieces", 400, "pieces of a short document")
	only := flag.String("parser", "", "part of the names of the parsers; all if empty")
	flag.Parse()
	parsers, tidy, err := allParsers()
	if err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(2)
	}
	defer tidy()
	if err := selfTest(); err != nil {
		tidy()
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(2)
	}
	pool := poolOf(parsers)
	failed := false
	for _, p := range parsers {
		if !strings.Contains(p.name, *only) {
			continue
		}
		m := &measurement{parser: p, pieces: *pieces, random: rand.New(rand.NewPCG(*seed, 0)), pool: pool}
		if err := m.run(*variants); err != nil {
			fmt.Fprintln(os.Stderr, "steps:", err)
			tidy()
			os.Exit(2)
		}
		fmt.Printf("%-30s %6d documents, at most %6.1f steps for a byte, growth at most %.2f %s\n", p.name, m.documents, m.perByte,
			m.growth, m.grown)
		for _, f := range m.failures {
			failed = true
			fmt.Printf("SUPERLINEAR: %s\n", f)
		}
	}
	if failed {
		tidy()
		os.Exit(1)
	}
}

// selfTest checks that a parser with a quadratic cost is found, and that one with a linear cost is not.
func selfTest() error {
	pairs := func(doc []byte) {
		for i := range doc {
			for j := range doc[:i] {
				doc[i] = max(doc[i], doc[j])
			}
		}
	}
	single := func(doc []byte) {
		for i := range doc {
			doc[i]++
		}
	}
	for _, tt := range []struct {
		read func(doc []byte)
		want int
	}{{pairs, 1}, {single, 0}} {
		m := &measurement{pieces: 40, parser: parser{name: "itself", shapes: []shape{list("", "")}, pieces: []string{"12345678"}, read: tt.read}}
		if err := m.run(0); err != nil {
			return err
		}
		if len(m.failures) != tt.want {
			return fmt.Errorf("a known cost is not judged right: %q, want %d failures", m.failures, tt.want)
		}
	}
	return nil
}

// measurement is what is known of one parser.
type measurement struct {
	parser    parser
	pieces    int // of a short document; a long one has four times as many
	random    *rand.Rand
	pool      [][]byte
	documents int
	perByte   float64 // the most steps for a byte of a long document
	growth    float64 // the most times as many steps of a document that is four times as long
	grown     string  // what grew most
	failures  []string
}

func (m *measurement) run(variants int) error {
	for _, shape := range m.parser.shapes {
		for _, piece := range m.parser.pieces {
			if err := m.measure(shape, []byte(piece)); err != nil {
				return err
			}
		}
		for range variants {
			if err := m.measure(shape, m.variant()); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure compares two documents of the piece.
func (m *measurement) measure(s shape, piece []byte) error {
	if len(m.failures) >= 5 {
		return nil
	}
	short, long := s.document(piece, m.pieces), s.document(piece, 4*m.pieces)
	m.parser.read(short) // fills caches
	base, err := stepsOf(func() { m.parser.read(short) })
	if err != nil {
		return err
	}
	steps, err := stepsOf(func() { m.parser.read(long) })
	if err != nil {
		return err
	}
	m.documents += 2
	m.perByte = max(m.perByte, float64(steps)/float64(max(1, len(long))))
	if growth := float64(steps) / float64(max(1, base)); steps > slack && growth > m.growth {
		m.growth, m.grown = growth, fmt.Sprintf("%.60q after %q", piece, s.open)
	}
	if steps > max(budgets[m.parser.name], slack+4*base*3/2) {
		m.failures = append(m.failures, fmt.Sprintf("%s takes %d steps for %d bytes, and %d for %d: %q between %q and %q",
			m.parser.name, base, len(short), steps, len(long), piece, s.open, s.end))
	}
	return nil
}

// variant changes one of the known pieces in a few places.
func (m *measurement) variant() []byte {
	pick := func(list [][]byte) []byte { return list[m.random.IntN(len(list))] }
	piece := []byte(m.parser.pieces[m.random.IntN(len(m.parser.pieces))])
	for range 1 + m.random.IntN(3) {
		if len(piece) == 0 {
			piece = bytes.Clone(pick(m.pool))
		}
		i, j := m.random.IntN(len(piece)+1), m.random.IntN(len(piece)+1)
		i, j = min(i, j), max(i, j)
		switch m.random.IntN(5) {
		case 0: // leave a part out
			piece = slices.Delete(piece, i, j)
		case 1: // repeat a part
			piece = slices.Insert(piece, j, bytes.Clone(piece[i:j])...)
		case 2: // another piece, or a part of it
			other := pick(m.pool)
			piece = slices.Replace(piece, i, j, other[:m.random.IntN(len(other)+1)]...)
		case 3: // a character
			piece = slices.Insert(piece, i, characters[m.random.IntN(len(characters))])
		default: // another piece in place of a value
			piece = slices.Replace(piece, i, j, pick(m.pool)...)
		}
		piece = piece[:min(len(piece), maxPiece)]
	}
	return piece
}

// poolOf returns the pieces of all parsers.
func poolOf(parsers []parser) (pool [][]byte) {
	for _, p := range parsers {
		for _, piece := range p.pieces {
			pool = append(pool, []byte(piece))
		}
	}
	return pool
}
