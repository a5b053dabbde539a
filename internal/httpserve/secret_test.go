package httpserve_test

import (
	"testing"

	"github.com/toolwire/toolwire/internal/httpserve"
)

func TestSecrets(t *testing.T) {
	live := []string{"third", ""}
	s := httpserve.NewSecrets([]string{"first", "", "second", " padded"}, func() []string { return live })
	for presented, want := range map[string]bool{
		"first": true, "second": true, "third": true,
		"": false, "firs": false, "first ": false, "First": false, "fourth": false, " padded": false,
	} {
		if s.Has(presented) != want {
			t.Errorf("Has(%q) = %t", presented, !want)
		}
	}
	live = []string{"fourth"}
	if s.Has("third") || !s.Has("fourth") {
		t.Error("the function is not called again")
	}
	if zero := (httpserve.Secrets{}); zero.Has("") || zero.Has("x") {
		t.Error("the zero set accepts something")
	}
}

func TestUsableSecret(t *testing.T) {
	for s, want := range map[string]bool{
		"x": true, "with space": true, "ünïcode": true,
		"": false, " x": false, "x\n": false, "a\r\nb": false, "a\x00b": false, "a\tb": false,
	} {
		if httpserve.UsableSecret(s) != want {
			t.Errorf("UsableSecret(%q) = %t", s, !want)
		}
	}
}
