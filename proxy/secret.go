package proxy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// secrets returns what must not be shown where the proxy repeats it.
func (r *run) secrets() *redact.Set { return redact.New(r.token.Reveal()) }

// withoutSecrets returns err, with another text if its own text repeats a secret.
func (r *run) withoutSecrets(err error) error {
	// A pointer that was cut may end in half a secret.
	if e, ok := errors.AsType[*rawjson.Error](err); ok && strings.HasSuffix(e.Pointer, "…") {
		return problem.Quiet(fmt.Sprintf("invalid JSON at byte %d", e.Offset), err)
	}
	said := err.Error()
	if clean := r.secrets().Redact(said); clean != said {
		return problem.Quiet(clean, err)
	}
	return err
}

// source returns what the proxy says about where a result came from.
func (r *run) source(said string) Source {
	switch s := Source(said); s {
	case SourceOdyssey, SourceInjected, SourcePassthrough, SourceError, SourceTransportError, SourceLedgerRead:
		return s
	}
	return Source(r.secrets().Redact(said))
}
