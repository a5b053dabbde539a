package httpcall

import (
	"net/url"

	"github.com/toolwire/toolwire/internal/publicaddr"
)

// Base says what the base URL of an API must be.
type Base struct {
	Example string // a valid one
	Secret  string // what is sent there in a header, such as "the API key"
	Plain   bool   // http is valid for every host, not only for loopback hosts
}

// RunBase is what the base URL of a run's proxy must be.
var RunBase = Base{
	Example: "https://api.example.com/api/odyssey-proxy/runs/4711", Secret: "the run token", Plain: true,
}

// Parse parses a base URL. Each mistake says what the text must be, such as "must begin with https://".
// Mistakes do not repeat the text.
func (b Base) Parse(text string) (base *url.URL, mistakes []string) {
	u, err := url.Parse(text)
	if err != nil {
		u = &url.URL{}
	}
	switch {
	case u.Hostname() == "":
		mistakes = append(mistakes, "must be a URL with a host, such as "+b.Example)
	case u.Scheme == "https" || u.Scheme == "http" && (b.Plain || publicaddr.Loopback(u.Hostname())):
	case b.Plain:
		mistakes = append(mistakes, "must begin with https:// or http://")
	default:
		mistakes = append(mistakes, "must begin with https://, to protect "+b.Secret)
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		mistakes = append(mistakes, "must not have a user name or password, a query or a fragment; "+
			b.Secret+" is sent as a header")
	}
	return u, mistakes
}

// ParseLink parses an absolute http or https URL.
func ParseLink(text string) (link *url.URL, ok bool) {
	u, err := url.Parse(text)
	return u, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// LinkRule says what [IsLink] checks. The subject of the sentence is a member.
const LinkRule = "must be an absolute http or https URL without user and fragment"

// IsLink reports whether a text is an absolute http or https URL without user and fragment.
func IsLink(text string) bool {
	u, ok := ParseLink(text)
	return ok && u.User == nil && u.Fragment == ""
}

// VisibleASCII reports whether a text is not empty and consists of visible ASCII, so that it can be a
// token in a header, a log and a path.
func VisibleASCII(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return text != ""
}
