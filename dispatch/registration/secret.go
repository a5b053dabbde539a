package registration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/redact"
)

// A Secret is a text that is sent and never shown: fmt, log/slog and encoding/json do not reach it, at any depth of any
// value that holds it. The zero Secret holds no text.
type Secret struct{ text *string } // fmt does not follow a pointer to a string; reflect.DeepEqual does

// NewSecret hides a text. NewSecret("") is the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// String returns "[redacted]", or "" if there is no secret.
func (s Secret) String() string { return redact.Field(s.reveal()) }

func (s Secret) reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format implements [fmt.Formatter]. It prints "[redacted]" for the auth header's value, also for one in Extra.
func (r Registration) Format(f fmt.State, verb rune) {
	type plain Registration
	r.Extra = slices.Clone(r.Extra)
	for i, m := range r.Extra {
		if strings.EqualFold(m.Name, authValueMember) && len(m.Value) > 0 {
			r.Extra[i].Value = json.RawMessage(`"` + redact.Placeholder + `"`)
		}
	}
	redact.Format(f, verb, plain(r))
}

// secrets returns what of a registration must not be shown, wherever the platform repeats it.
func (r *Registration) secrets() []string {
	return append(redact.URL(r.EndpointURL), r.AuthValue.reveal(), text(members(r.Extra).first(authValueMember)))
}

// scrubber cleans what the platform says.
type scrubber struct{ secrets *redact.Set }

// text returns s without secrets and control characters, as valid UTF-8 of at most maxText bytes. strings.Map replaces
// what is not UTF-8.
func (c scrubber) text(s string) string {
	return clip.Text(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, c.secrets.Text(s))), maxText)
}
