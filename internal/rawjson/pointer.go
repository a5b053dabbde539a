package rawjson

import (
	"strings"

	"github.com/toolwire/toolwire/internal/strictjson"
)

// Token returns "/" and name as a token of a JSON Pointer (RFC 6901).
func Token(name string) string { return strictjson.PointerToken(name) }

var unescaper = strings.NewReplacer("~1", "/", "~0", "~")

// Name returns the name that a token of a JSON Pointer, without its slash, stands for.
func Name(token string) string { return unescaper.Replace(token) }
