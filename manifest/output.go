package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// read returns the output of a program that exited with status 0.
func (f OutputFormat) read(stdout []byte) (json.RawMessage, *Error) {
	if f == Text {
		return rawjson.Quote(plainText(stdout)), nil
	}
	value := bytes.Trim(stdout, " \t\r\n")
	if len(value) == 0 {
		return json.RawMessage("{}"), nil
	}
	limits := rawjson.Limits{Mode: rawjson.Liberal}
	err := rawjson.Check(value, limits)
	if err != nil {
		position := ""
		if e, ok := errors.AsType[*rawjson.Error](err); ok {
			if e.Limit != "" {
				return nil, &Error{Code: toolwire.CodeBadResponse, Message: "tool output is nested too deeply",
					detail: "stdout " + e.Problem + "; print JSON of less depth, or set Options.Output to Text"}
			}
			position = fmt.Sprintf(" (byte %d%s)", e.Offset, foreign(value[e.Offset:]))
		}
		return nil, f.reject("stdout is not valid JSON" + position)
	}
	if f == SingleLineJSON && bytes.ContainsAny(value, "\r\n") {
		return nil, f.reject("stdout contains JSON on several lines")
	}
	return json.RawMessage(value[:len(value):len(value)]), nil
}

func (f OutputFormat) reject(detail string) *Error {
	want, advice := "a single line of JSON", "; print exactly one line of JSON to stdout and everything else to stderr, or set Options.Output"
	if f == AnyJSON {
		want, advice = "JSON", "; print one JSON value to stdout and everything else to stderr, or set Options.Output to Text"
	}
	return &Error{Code: toolwire.CodeBadResponse, Message: "tool output is not " + want, detail: detail + advice}
}

// foreign names what other languages print where JSON is expected. It shows nothing else of an output.
func foreign(rest []byte) string {
	for _, w := range []struct{ begins, is string }{
		{"NaN", "NaN, which JSON does not have"}, {"Infinity", "Infinity, which JSON does not have"},
		{"True", "True of Python"}, {"False", "False of Python"},
		{"None", "None of Python"}, {"'", "a single quote; JSON has double quotes"}, {"\ufeff", "a byte order mark"},
	} {
		if bytes.HasPrefix(rest, []byte(w.begins)) {
			return ": " + w.is
		}
	}
	if r, size := utf8.DecodeRune(rest); r == utf8.RuneError && size == 1 {
		return ": not UTF-8"
	}
	return ""
}

// plainText returns printed text as valid UTF-8 without trailing line ends.
func plainText(b []byte) string {
	return string(bytes.ToValidUTF8(bytes.TrimRight(b, "\r\n"), []byte("\ufffd")))
}
