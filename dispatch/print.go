package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolwire/toolwire/internal/redact"
)

// Format implements [fmt.Formatter]. It prints "[redacted]" in place of each token.
func (o Options) Format(f fmt.State, verb rune) {
	type plain Options
	o.Tokens = slices.Clone(o.Tokens)
	for i, token := range o.Tokens {
		o.Tokens[i] = redact.Field(token)
	}
	redact.Format(f, verb, plain(o))
}

// withoutToken returns the body without the run token, because agents log their envelopes. If the token came in
// a header, it may still be in a member that this package does not know, as it is or with escapes.
func withoutToken(body json.RawMessage, token string) json.RawMessage {
	if !redact.Has(body, token) {
		return body
	}
	without := redact.New(token).RedactBytes(string(body))
	if !json.Valid(without) { // a token of digits stands in a number, too
		return json.RawMessage(`{"run_token":"` + redact.Placeholder + `"}`)
	}
	return without
}
