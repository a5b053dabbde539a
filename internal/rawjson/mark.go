package rawjson

import (
	"bytes"
	"errors"
)

// mark is the byte order mark that some Windows programs write before JSON in UTF-8.
var mark = []byte("\ufeff")

// WithoutMark returns a document without the byte order mark at its beginning. RFC 8259 lets a reader
// ignore one.
func WithoutMark(doc []byte) []byte { return bytes.TrimPrefix(doc, mark) }

// Convert ends the message about a document for which [IsForeign] is true.
const Convert = "; convert a document in another form, such as YAML, TOML or JavaScript, to JSON in UTF-8"

// IsForeign reports whether a document is in another language than JSON, and not JSON with a fault: it is wrong
// before its first string and closing bracket, and not because it breaks off there or is too deep.
func IsForeign(doc []byte) bool {
	e, wrong := errors.AsType[*Error](Check(doc, Limits{Mode: Liberal}))
	return wrong && e.Limit == "" && int(e.Offset) < len(doc) && !bytes.ContainsAny(doc[:e.Offset], `"]}`)
}

// IsUTF16 reports whether a document begins with the byte order mark of UTF-16.
func IsUTF16(doc []byte) bool {
	return bytes.HasPrefix(doc, []byte("\xff\xfe")) || bytes.HasPrefix(doc, []byte("\xfe\xff"))
}
