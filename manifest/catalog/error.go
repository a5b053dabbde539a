package catalog

import (
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// Codes of errors that no other package has.
const (
	codeInvalid   toolwire.Code = "invalid_tool"
	codePlugin    toolwire.Code = "invalid_plugin"
	codeAmbiguous toolwire.Code = "ambiguous"
)

// at makes a problem with a field.
func at(field, rule, message string) toolwire.Problem {
	p := toolwire.Problem{Code: rule, Message: message}
	if field != "" {
		p.Pointer = rawjson.Token(field)
	}
	return p
}

// fieldOf returns the name of the field in a pointer that at has made.
func fieldOf(p toolwire.Problem) string { return rawjson.Name(strings.TrimPrefix(p.Pointer, "/")) }
