// Package secret compares secrets that a peer presents with those that are accepted.
package secret

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

// Set is a set of accepted secrets. It is immutable and safe for concurrent use if the function it was made with is. The
// zero Set accepts nothing.
type Set struct {
	digests [][sha256.Size]byte
	more    func() []string
}

// NewSet accepts secrets, and those that more returns at every comparison; more may be nil. Secrets that are not
// [Usable] are never accepted.
func NewSet(secrets []string, more func() []string) Set {
	s := Set{more: more}
	for _, one := range secrets {
		if Usable(one) {
			s.digests = append(s.digests, sha256.Sum256([]byte(one)))
		}
	}
	return s
}

// Usable reports whether a header can carry the secret: it is not empty, has no white space around it and no control
// characters in it.
func Usable(secret string) bool {
	return secret != "" && strings.TrimSpace(secret) == secret &&
		!strings.ContainsFunc(secret, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// Has compares digests of one length, every one of them, so that the time taken tells nothing about the secrets. A panic
// of the function is the caller's to recover from: it accepts nobody, and this package has no log.
func (s *Set) Has(presented string) bool {
	digest := sha256.Sum256([]byte(presented))
	match := 0
	for i := range s.digests {
		match |= subtle.ConstantTimeCompare(digest[:], s.digests[i][:])
	}
	if s.more != nil {
		for _, one := range s.more() {
			if Usable(one) {
				accepted := sha256.Sum256([]byte(one))
				match |= subtle.ConstantTimeCompare(digest[:], accepted[:])
			}
		}
	}
	return match == 1
}
