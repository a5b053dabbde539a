package report

import (
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

// Get returns the value of a record's attribute as text, or "" if the record has no such attribute.
func Get(record slog.Record, name string) (value string) {
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == name {
			value = a.Value.Resolve().String()
			return false
		}
		return true
	})
	return value
}

// WaitReason says in words why a client waits, and what to do about it. record is named
// [WaitsForPace] or [WaitsToRepeat].
func WaitReason(record slog.Record) string {
	if record.Message == WaitsToRepeat {
		if Get(record, Status) == "0" {
			return "the proxy did not answer"
		}
		return strings.TrimSpace("the proxy answered " + Get(record, Status) + " " + Get(record, Class))
	}
	return "a run token may make " + Get(record, Limit) + " requests in " + Get(record, Window) + ". In a testing/synctest bubble " +
		"the wait takes no time; proxytest.Options{RatePerMinute: -1} lifts the limit"
}

// Text writes a record for people, without its time: the message, the attributes as key=value, and
// below them the values that have several lines, such as a stack. It ends with a line break.
func Text(record slog.Record) string {
	switch get := func(name string) string { return Get(record, name) }; record.Message {
	case WaitsForPace, WaitsToRepeat:
		return get(Tool) + " waits " + get(Wait) + ": " + WaitReason(record) + "\n"
	case CallRefused:
		answer := join(": ", strings.TrimSpace(get(Status)+" "+get(Class)), get(Reason))
		if get(Status) == "0" {
			answer = join(": ", "no answer", get(Reason))
		}
		return "the proxy refused " + join(": ", get(Actor), get(Tool)) + ": " + answer + "\n"
	}
	var line, below strings.Builder
	line.WriteString(record.Message)
	record.Attrs(func(a slog.Attr) bool {
		value := a.Value.Resolve().String()
		switch {
		case value == "":
		case strings.Contains(value, "\n"):
			below.WriteString(a.Key + ":\n" + Indent(value))
		case strings.ContainsAny(value, " \t\r\"="):
			line.WriteString(" " + a.Key + "=" + strconv.Quote(value))
		default:
			line.WriteString(" " + a.Key + "=" + value)
		}
		return true
	})
	return line.String() + "\n" + Indent(below.String())
}

// Indent indents every line of the text by two spaces. The result is empty or ends with a line
// break.
func Indent(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}

// join joins the parts that are not empty.
func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), separator)
}
