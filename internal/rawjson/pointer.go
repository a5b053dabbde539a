package rawjson

import "strings"

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// Token returns "/" and name as a token of a JSON Pointer (RFC 6901).
func Token(name string) string { return "/" + escaper.Replace(name) }

// Name returns the name that a token of a JSON Pointer, without its slash, stands for.
func Name(token string) string { return unescaper.Replace(token) }
