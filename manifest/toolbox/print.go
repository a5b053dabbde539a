package toolbox

import (
	"fmt"

	"github.com/toolwire/toolwire/internal/redact"
)

// Format implements [fmt.Formatter]. It prints "[redacted]" for Secret.
func (o Options) Format(f fmt.State, verb rune) {
	type plain Options
	o.Secret = redact.Field(o.Secret)
	redact.Format(f, verb, plain(o))
}
