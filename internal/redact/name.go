package redact

// secretEndings are the endings of the names of secrets, in lower case and without separators.
var secretEndings = []string{
	"authorization", "apikey", "accesskey", "secretkey", "privatekey",
	"token", "password", "passwd", "passphrase", "pwd", "secret", "cookie", "credential", "passwords", "secrets",
	"cookies", "credentials",
}

// SecretName reports whether the name of a member, header or parameter is a usual one of a secret,
// in any case and with any separators, such as api_key, X-Agent-Secret or refreshToken.
func SecretName(name string) bool {
	var buffer [64]byte
	plain := buffer[:0]
	for _, c := range []byte(name) {
		switch {
		case c == '-' || c == '_' || c == '.' || c == ' ':
		case c >= 'A' && c <= 'Z':
			plain = append(plain, c+'a'-'A')
		default:
			plain = append(plain, c)
		}
	}
	switch string(plain) {
	case "tokens", "jwt", "bearer":
		return true
	}
	for _, ending := range secretEndings {
		if len(plain) >= len(ending) && string(plain[len(plain)-len(ending):]) == ending {
			return true
		}
	}
	return false
}
