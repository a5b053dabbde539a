package webhook

import (
	"fmt"
	"slices"

	"github.com/toolwire/toolwire/internal/redact"
)

// Format implements [fmt.Formatter]. It replaces each of Secrets with "[redacted]".
func (o Options) Format(f fmt.State, verb rune) {
	type plain Options
	o.Secrets = slices.Clone(o.Secrets)
	for i, secret := range o.Secrets {
		o.Secrets[i] = redact.Field(secret)
	}
	redact.Format(f, verb, plain(o))
}
