package httpserve

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

// Secrets is a set of accepted secrets. It is immutable, and safe for concurrent use if the
// function that it was made with is. The zero Secrets accepts nothing.
type Secrets struct {
	digests [][sha256.Size]byte
	more    func() []string
}

// NewSecrets returns a set of the given secrets and those that more returns at every comparison.
// more may be nil. Secrets that are not [UsableSecret] are never accepted.
func NewSecrets(secrets []string, more func() []string) Secrets {
	s := Secrets{more: more}
	for _, one := range secrets {
		if UsableSecret(one) {
			s.digests = append(s.digests, sha256.Sum256([]byte(one)))
		}
	}
	return s
}

// UsableSecret reports whether a header can carry the secret: it is not empty, has no white space
// around it and contains no control characters.
func UsableSecret(secret string) bool {
	return secret != "" && strings.TrimSpace(secret) == secret &&
		!strings.ContainsFunc(secret, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// Has reports whether a secret is accepted. It compares digests of equal length, and all of them,
// so that the time that it takes does not depend on the secrets. It does not recover from a panic
// of the function.
func (s *Secrets) Has(presented string) bool {
	digest := sha256.Sum256([]byte(presented))
	match := 0
	for i := range s.digests {
		match |= subtle.ConstantTimeCompare(digest[:], s.digests[i][:])
	}
	if s.more != nil {
		for _, one := range s.more() {
			if UsableSecret(one) {
				accepted := sha256.Sum256([]byte(one))
				match |= subtle.ConstantTimeCompare(digest[:], accepted[:])
			}
		}
	}
	return match == 1
}
