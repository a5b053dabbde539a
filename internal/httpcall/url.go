package httpcall

import (
	"net/url"
	"strings"

	"github.com/toolwire/toolwire/internal/publicaddr"
)

// ParseBase parses the base URL of an API that is called with a key. Each mistake says what the text
// must be, such as "must begin with https://, to protect the API key". Mistakes do not repeat the
// text. They show example as a valid base URL. The path of the result ends in a slash.
func ParseBase(text, example string) (base *url.URL, mistakes []string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		mistakes = append(mistakes, "must be a URL such as "+example)
		u = &url.URL{}
	case u.Scheme != "https" && !(u.Scheme == "http" && publicaddr.Loopback(u.Hostname())):
		mistakes = append(mistakes, "must begin with https://, to protect the API key")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		mistakes = append(mistakes, "must not have a user name, query or fragment")
	}
	return u.JoinPath("/"), mistakes
}

// CheckKey returns what an API key must be, such as "must be visible ASCII …", or "".
func CheckKey(key string) string {
	if key == "" || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "must be visible ASCII; check that its environment variable is set"
	}
	return ""
}

// IsLink reports whether a text is an absolute http or https URL without user and fragment.
func IsLink(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		u.Fragment == ""
}
