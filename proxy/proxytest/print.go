package proxytest

import (
	"fmt"

	"github.com/toolwire/toolwire/internal/redact"
)

// Format implements [fmt.Formatter]. It prints the run's id, path and token id, and not the token.
func (r *Run) Format(f fmt.State, verb rune) {
	type plain struct{ ID, Path, Token, JTI string }
	redact.Format(f, verb, plain{r.ID, r.Path, redact.Field(r.Token), r.JTI})
}
