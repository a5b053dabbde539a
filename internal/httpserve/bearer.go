// Package httpserve takes requests for every handler of this module: it compares secrets, reads
// bodies within limits, and answers requests whose body has not been read.
package httpserve

import (
	"net/http"
	"slices"
	"strings"
)

// CutBearer cuts the authentication scheme "Bearer" off the value of an Authorization header. The
// scheme is case-insensitive (RFC 9110, section 11.1). Without it, ok is false and the token is the
// whole value.
func CutBearer(value string) (token string, ok bool) {
	const scheme = "bearer "
	if len(value) >= len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
		return strings.TrimLeft(value[len(scheme):], " "), true
	}
	return value, false
}

// Tokens returns all tokens that a request presents: those in "Authorization: Bearer …", then
// the values of the header other, whose name is canonical. foreign tells that there is an
// Authorization header with another scheme.
func Tokens(header http.Header, other string) (tokens []string, foreign bool) {
	for _, value := range header["Authorization"] {
		token, ok := CutBearer(value)
		if !ok {
			foreign = true
			continue
		}
		tokens = append(tokens, token)
	}
	return append(tokens, header[other]...), foreign
}

// OneToken returns the token that all tokens are equal to. ok is false if there is none, if one is
// empty, or if they differ.
func OneToken(tokens []string) (token string, ok bool) {
	for _, one := range tokens {
		if one == "" || one != tokens[0] {
			return "", false
		}
	}
	if len(tokens) == 0 {
		return "", false
	}
	return tokens[0], true
}

// ReservedHeader reports whether a dispatch or its connection sets the header itself, so that no secret of an agent
// can be in it.
func ReservedHeader(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return strings.HasPrefix(name, "X-Pipelines-") || slices.Contains(reserved, name)
}

var reserved = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Keep-Alive",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// ValidHeaderName reports whether name is a header name (RFC 9110, section 5.1).
func ValidHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("!#$%&'*+-.^_`|~", c))
	})
}
