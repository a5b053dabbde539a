package eval

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/text"
)

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitCounts
	Suite junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	junitCounts
	Timestamp  string          `xml:"timestamp,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      junitCases
}

// junitCases writes the trials one by one.
type junitCases struct{ *Experiment }

// MarshalXML implements [xml.Marshaler].
func (e junitCases) MarshalXML(out *xml.Encoder, _ xml.StartElement) error {
	for i := range e.Trials {
		r, err := e.report(&e.Trials[i])
		if err != nil {
			return err
		}
		if err := out.Encode(e.junitOf(&r, e.numbered(&e.Trials[i]))); err != nil {
			return err
		}
	}
	return nil
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCounts struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  *int   `xml:"skipped,attr"` // of a suite only
	Time     string `xml:"time,attr"`
}

type junitCase struct {
	XMLName   xml.Name     `xml:"testcase"`
	Name      string       `xml:"name,attr"`
	ClassName string       `xml:"classname,attr"`
	Time      string       `xml:"time,attr"`
	Skipped   *junitReason `xml:"skipped"`
	Error     *junitReason `xml:"error"`
	Failure   *junitReason `xml:"failure"`
	SystemOut *junitText   `xml:"system-out"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	junitText
}

// junitText is text in which line breaks and quotes stay readable.
type junitText struct {
	XML string `xml:",innerxml"`
}

func newJUnitText(text string) junitText {
	return junitText{strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(strings.Map(xmlCharacter, text))}
}

// xmlCharacter replaces what XML 1.0 cannot hold. A carriage return would not survive a parser.
func xmlCharacter(r rune) rune {
	switch {
	case r == '\r':
		return -1
	case r == '\n', r == '\t', r >= ' ' && r <= 0xFFFD, r > 0xFFFF:
		return r
	}
	return utf8.RuneError
}

// maxOutput is the limit of a system-out in bytes, because programs that show reports read them
// into memory.
const maxOutput = 64 << 10

// WriteJUnit writes the experiment as JUnit XML for continuous integration: one suite with a test
// case for each trial, whose timeline is in system-out. A cancelled trial is an error, because it
// must not look like a success. Characters that XML cannot contain become U+FFFD. The secrets of
// the target are hidden as in the file of results. Memory does not grow with the results. It returns
// the first error of w, or of reading the file of results, after which the document is not complete.
func (e *Experiment) WriteJUnit(w io.Writer) error {
	skipped := e.Count(Skipped)
	counts := junitCounts{
		Name: e.Name, Tests: len(e.Trials), Failures: e.Count(Failed), Errors: e.Count(Errored) + e.Count(Cancelled), Time: seconds(e.Took),
	}
	doc := junitSuites{junitCounts: counts, Suite: junitSuite{
		junitCounts: counts, Timestamp: e.Started.UTC().Format("2006-01-02T15:04:05"), Properties: e.junitProperties(), Cases: junitCases{e},
	}}
	doc.Suite.Skipped = &skipped
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(xml.Header) // a Writer keeps its first error for Flush
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(doc); err != nil {
		return err
	}
	_ = out.WriteByte('\n')
	return out.Flush()
}

// junitProperties are the estimates for all cases.
func (e *Experiment) junitProperties() []junitProperty {
	s := e.stats()
	list := []junitProperty{{"trials_per_case", fmt.Sprint(e.trialsPerCase())}}
	for _, f := range e.whole() {
		name := f.Name
		switch {
		case name == "always" && e.trialsPerCase() < 2:
			continue
		case name == "always":
			name = "always_passed"
		case name == "rate":
			name = "pass_rate"
		case f.Faults == "":
			name = "score_" + name
		}
		if f.Faults == dropped {
			name += "_faults_dropped"
		}
		list = append(list, junitProperty{name, f.String()})
	}
	if s.Faults > 0 {
		list = append(list, junitProperty{"infrastructure_faults", fmt.Sprint(s.Faults)})
	}
	if s.UserFaults > 0 {
		list = append(list, junitProperty{"user_faults", fmt.Sprint(s.UserFaults)})
	}
	if s.Retries > 0 {
		list = append(list, junitProperty{"retries", fmt.Sprint(s.Retries)})
	}
	for _, f := range e.facts() {
		if f.Property != "" {
			list = append(list, junitProperty{f.Property, f.Text})
		}
	}
	return list
}

func (e *Experiment) junitOf(r *record, numbered string) junitCase {
	out := junitCase{Name: r.Name + numbered, ClassName: e.Name, Time: fmt.Sprintf("%.3f", r.TookMS/1000)}
	s := r.Reason
	if r.Repeat != "" {
		s += "\n\nrun it again: " + r.Repeat
	}
	reason := &junitReason{Message: text.Line(r.Reason, 300), Type: r.Cause, junitText: newJUnitText(s)}
	switch r.Verdict {
	case Passed:
	case Skipped:
		out.Skipped = &junitReason{Message: reason.Message}
	case Failed:
		out.Failure = reason
	case Cancelled:
		reason.Type = string(Cancelled)
		out.Error = reason
	default:
		out.Error = reason
	}
	if r.Timeline != "" {
		s := newJUnitText(r.Timeline)
		out.SystemOut = &s
	}
	return out
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
