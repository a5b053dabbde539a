package rawjson

import "bytes"

// mark is the byte order mark that some Windows programs write before JSON in UTF-8.
var mark = []byte("\ufeff")

// WithoutMark returns a document without the byte order mark at its beginning. RFC 8259 lets a reader
// ignore one.
func WithoutMark(doc []byte) []byte { return bytes.TrimPrefix(doc, mark) }

// IsUTF16 reports whether a document begins with the byte order mark of UTF-16.
func IsUTF16(doc []byte) bool {
	return bytes.HasPrefix(doc, []byte("\xff\xfe")) || bytes.HasPrefix(doc, []byte("\xfe\xff"))
}
