package redact

// A Secret is a text that fmt, log/slog and encoding/json do not reach, at any depth of any value that holds it: the text
// is behind a pointer in a field without a name that they could use, and they print such a pointer as an address. Methods
// would not do, because fmt does not call those of unexported fields. The zero Secret holds "".
type Secret struct{ text *string }

// Hide returns a Secret that holds text.
func Hide(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns [Placeholder], or "" if the text is empty.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return Placeholder
}
