package auth_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/examples/internal/auth"
)

func TestValue(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("TOOLWIRE_TEST_TOKEN", " hunter2 ")
	t.Setenv("TOOLWIRE_TEST_SCHEME", "Token hunter2")
	t.Setenv("TOOLWIRE_TEST_EMPTY", " ")
	for _, tt := range []struct{ header, env, file, want, problem string }{
		{"", "", "", "", ""},
		{"", "TOOLWIRE_TEST_TOKEN", "", "Bearer hunter2", ""},
		{"authorization", "", file("hunter2\n"), "Bearer hunter2", ""},
		{"Authorization", "TOOLWIRE_TEST_SCHEME", "", "Token hunter2", ""},
		{"X-API-Key", "TOOLWIRE_TEST_TOKEN", "", "hunter2", ""},
		{"", "TOOLWIRE_TEST_EMPTY", "", "", "-token-env: there is no"},
		{"", "hunter2", "", "", "give its name, not the token"},
		{"", "", file(" \n"), "", "is empty"},
		{"", "", filepath.Join(t.TempDir(), "nope"), "", "-token-file: "},
		{"", "TOOLWIRE_TEST_TOKEN", file("hunter2"), "", "exclude each other"},
	} {
		got, err := auth.Value(tt.header, tt.env, tt.file)
		if got != tt.want || (err == nil) != (tt.problem == "") {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), tt.problem) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%+v: the error is %v", tt, err)
		}
	}
}
