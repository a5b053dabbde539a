package capture

import (
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/redact"
)

// placeholders numbers values by kind. It keeps keyed hashes of them.
type placeholders struct {
	seeds  [2]maphash.Seed
	known  map[placeholder]int
	counts map[string]int
}

type placeholder struct {
	kind string
	hash [2]uint64
}

// maxPlaceholders bounds the values of one kind that are told apart.
const maxPlaceholders = 100_000

func newPlaceholders() placeholders {
	return placeholders{
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		known: map[placeholder]int{}, counts: map[string]int{},
	}
}

func (p *placeholders) key(kind, value string) placeholder {
	return placeholder{kind, [2]uint64{maphash.String(p.seeds[0], value), maphash.String(p.seeds[1], value)}}
}

// of returns the placeholder of a value, such as token-1.
func (p *placeholders) of(kind, value string) string {
	key := p.key(kind, value)
	n := p.known[key]
	if n == 0 {
		if p.counts[kind] == maxPlaceholders {
			return kind + "-x"
		}
		p.counts[kind]++
		n = p.counts[kind]
		p.known[key] = n
	}
	return kind + "-" + strconv.Itoa(n)
}

// secrets are the credentials of an exchange.
type secrets struct {
	values redact.Hidden[[]string]
	set    *redact.Set // of values; nil if it has to be made
	more   bool        // there are others, so no text may be written
}

// minSecret is the length in bytes from which a credential is searched for in texts.
const minSecret = 8

// Bounds of the credentials of an exchange: their number, and the bytes of one.
const (
	maxSecrets = 64
	maxSecret  = 16 << 10
)

func (s *secrets) add(values ...string) {
	for _, v := range values {
		have := s.values.Reveal()
		switch {
		case len(v) < minSecret || slices.Contains(have, v):
		case len(v) > maxSecret || len(have) == maxSecrets:
			s.more = true
		default:
			s.values, s.set = redact.Hide(append(slices.Clip(have), v)), nil
		}
	}
}

// addHeaders adds the credentials that headers have. The value of a header that is not known may be
// one.
func (s *secrets) addHeaders(header http.Header) {
	for name, values := range header {
		for _, value := range values {
			switch headerPolicy(name) {
			case token, opaque:
				s.add(value)
				if _, credential, ok := strings.Cut(value, " "); ok {
					s.add(strings.TrimSpace(credential))
				}
			case link:
				s.add(redact.URL(value)...)
			}
		}
	}
}

// hidden returns text without the credentials.
func (s *secrets) hidden(text string) string {
	if s.set == nil {
		s.set = redact.New(s.values.Reveal()...)
	}
	return s.set.Text(text)
}

// hasFold reports whether text has a credential in any case: net/http changes that of headers.
func (s *secrets) hasFold(text string) bool {
	return slices.ContainsFunc(s.values.Reveal(), func(v string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(v))
	})
}

// is reports whether text is a credential.
func (s *secrets) is(text string) bool { return slices.Contains(s.values.Reveal(), text) }

// runToken returns the run token of a call or dispatch, "" if it has none.
func runToken(header http.Header, server bool) string {
	presented := header["X-Pipelines-Run-Token"]
	if !server {
		presented, _ = httpserve.Presented(header, "X-Pipelines-Run-Token")
	}
	for _, token := range presented {
		if token != "" {
			return token
		}
	}
	return ""
}
