package text_test

import (
	"testing"

	"github.com/toolwire/toolwire/internal/text"
)

func TestValidUUID(t *testing.T) {
	for s, want := range map[string]bool{
		"6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11":   true,
		"6F1C1A5E-3C1B-4A53-9D7E-0C5F2B8A9E11":   true,
		"00000000-0000-0000-0000-000000000000":   true,
		"":                                       false,
		"6f1c1a5e3c1b4a539d7e0c5f2b8a9e11":       false,
		"{6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11}": false,
		"6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e1":    false,
		"6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e1g":   false,
		"6f1c1a5e-3c1b-4a53-9d7e_0c5f2b8a9e11":   false,
		"6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e1é":   false,
		" 6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e1":   false,
	} {
		if text.ValidUUID(s) != want {
			t.Errorf("ValidUUID(%q) = %t", s, !want)
		}
	}
}
