package eval

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/text"
)

// attribute escapes the value of an attribute, in which line breaks and quotes are escapes.
func attribute(value string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(value)) // a Builder has no errors
	return b.String()
}

// content escapes text in which line breaks and quotes stay readable.
func content(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(strings.Map(xmlCharacter, text))
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
	e = e.sized()
	out := bufio.NewWriter(w) // it keeps its first error for Flush
	put := func(format string, args ...any) { fmt.Fprintf(out, format, args...) }
	counts := fmt.Sprintf(`name="%s" tests="%d" failures="%d" errors="%d"`, attribute(e.Name), len(e.Trials), e.count(Failed), e.count(Errored)+e.count(Cancelled))
	took := fmt.Sprintf(`time="%.3f"`, e.Took.Seconds())
	put("%s<testsuites %s %s>\n", xml.Header, counts, took)
	put("  <testsuite %s skipped=\"%d\" %s timestamp=\"%s\">\n    <properties>\n", counts, e.count(Skipped), took, e.Started.UTC().Format("2006-01-02T15:04:05"))
	for _, p := range e.junitProperties() {
		put("      <property name=\"%s\" value=\"%s\"></property>\n", attribute(p[0]), attribute(p[1]))
	}
	put("    </properties>\n")
	for i := range e.Trials {
		r, err := e.report(&e.Trials[i])
		if err != nil {
			return err
		}
		put("    <testcase name=\"%s\" classname=\"%s\" time=\"%.3f\">", attribute(r.Name+e.numbered(&e.Trials[i])), attribute(e.Name), r.TookMS/1000)
		end := ""
		element := func(name, attributes, text string) {
			put("\n      <%s%s>%s</%s>", name, attributes, content(text), name)
			end = "\n    "
		}
		reason := fmt.Sprintf(` message="%s"`, attribute(text.Line(r.Reason, 300)))
		switch r.Verdict {
		case Passed:
		case Skipped:
			element("skipped", reason, "")
		default:
			name, kind := "error", r.Cause
			if r.Verdict == Failed {
				name = "failure"
			} else if r.Verdict == Cancelled {
				kind = string(Cancelled)
			}
			if kind != "" {
				reason += fmt.Sprintf(` type="%s"`, attribute(kind))
			}
			if r.Repeat != "" {
				r.Reason += "\n\nrun it again: " + r.Repeat
			}
			element(name, reason, r.Reason)
		}
		if r.Timeline != "" {
			element("system-out", "", r.Timeline)
		}
		put("%s</testcase>\n", end)
	}
	put("  </testsuite>\n</testsuites>\n")
	return out.Flush()
}

// junitProperties are the estimates for all cases.
func (e *Experiment) junitProperties() [][2]string {
	s := e.stats()
	list := [][2]string{{"trials_per_case", fmt.Sprint(e.trialsPerCase())}}
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
		list = append(list, [2]string{name, f.String()})
	}
	if s.Faults > 0 {
		list = append(list, [2]string{"infrastructure_faults", fmt.Sprint(s.Faults)})
	}
	if s.UserFaults > 0 {
		list = append(list, [2]string{"user_faults", fmt.Sprint(s.UserFaults)})
	}
	if s.Retries > 0 {
		list = append(list, [2]string{"retries", fmt.Sprint(s.Retries)})
	}
	for _, f := range e.facts() {
		if f.Property != "" {
			list = append(list, [2]string{f.Property, f.Text})
		}
	}
	return list
}
