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

// secrets are the credentials of an exchange: its own and those of its run.
type secrets struct {
	values redact.Hidden[[]string]
	set    *redact.Set // of values; nil if it has to be made
}

// minSecret is the length in bytes from which a credential is searched for in texts.
const minSecret = 8

// maxSecrets bounds the credentials of an exchange.
const maxSecrets = 64

func (s *secrets) add(values ...string) {
	for _, v := range values {
		have := s.values.Reveal()
		if len(v) >= minSecret && len(have) < maxSecrets && !slices.Contains(have, v) {
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

// uncut returns data without its last bytes, if it was cut: they may be a part of a credential that
// is not recognised.
func (s *secrets) uncut(data []byte, cut bool) []byte {
	if !cut {
		return data
	}
	longest := 512
	for _, v := range s.values.Reveal() {
		longest = max(longest, 6*len(v)) // as \u0041
	}
	return data[:max(0, len(data)-longest)]
}

// run is what the requests with one run token share.
type run struct {
	name   string
	tokens redact.Hidden[[]string]
}

// runs has the runs of a capture, at most maxRuns of the latest.
type runs struct {
	known map[string]*run // by the placeholder of the token
	order []string
}

const maxRuns = 1000

// of returns the run of a token.
func (r *runs) of(names *placeholders, token string) *run {
	key := names.of("token", token)
	if r.known[key] == nil {
		if r.known == nil {
			r.known = map[string]*run{}
		}
		if len(r.order) == maxRuns {
			delete(r.known, r.order[0])
			r.order = r.order[1:]
		}
		r.known[key] = &run{name: names.of("run", token), tokens: redact.Hide([]string{token})}
		r.order = append(r.order, key)
	}
	return r.known[key]
}

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
