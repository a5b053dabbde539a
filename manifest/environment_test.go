package manifest_test

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/manifest"
)

// lookup returns an Options.LookupEnv.
func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func TestEnvironment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows adds variables of its own to every process")
	}
	parent := map[string]string{
		"PATH": "/bin", "HOME": "/home/x", "OAI_API_KEY": "sk-1", "OAI_BASE_URL": "", "UNSAFE": "1", "http_proxy": "p",
		"_":          "u",
		"LD_PRELOAD": "evil.so", "SECRET": "s",
	}
	for _, tt := range []struct {
		name   string
		parent map[string]string
		allow  []string
		want   []string
	}{
		{"base only", parent, nil, []string{"PATH=/bin", "HOME=/home/x"}},
		{"allowlist", parent, []string{"OAI_API_KEY", "NOT_SET"}, []string{"PATH=/bin", "HOME=/home/x", "OAI_API_KEY=sk-1"}},
		{"set but empty", parent, []string{"OAI_BASE_URL"}, []string{"PATH=/bin", "HOME=/home/x", "OAI_BASE_URL="}},
		{"normalized, once", parent, []string{"oai_api_key", "OAI_API_KEY", "Secret", "_"},
			[]string{"PATH=/bin", "HOME=/home/x", "OAI_API_KEY=sk-1", "SECRET=s", "_=u"}},
		{"lower case never passes", parent, []string{"http_proxy"}, []string{"PATH=/bin", "HOME=/home/x"}},
		{"PATH listed", parent, []string{"path"}, []string{"HOME=/home/x", "PATH=/bin"}},
		{"empty base is left out", map[string]string{"PATH": "", "HOME": ""}, nil, nil},
		{"nothing at all", map[string]string{}, []string{"TZ"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("UNSAFE", "1")
			r := run(t, tool("env").with("envPassthrough", tt.allow), nil, &manifest.Options{LookupEnv: lookup(tt.parent)})
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			var got []string
			_ = json.Unmarshal(r.Output, &got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("the tool sees %q, want %q", got, tt.want)
			}
		})
	}
}

// A name in lower case means the one in upper case. Lint says so if only the other variable is set.
func TestLintOfNamesInLowerCase(t *testing.T) {
	parent := map[string]string{"http_proxy": "p", "https_proxy": "p", "HTTPS_PROXY": "p", "Mixed": ""}
	m := load(t, &manifest.Options{LookupEnv: lookup(parent)},
		tool("env").with("envPassthrough", []string{"http_proxy", "https_proxy", "no_proxy", "Mixed", "HOME"}))
	var got []string
	for _, p := range m.Lint() {
		got = append(got, p.Code+" "+p.Pointer)
	}
	if want := []string{"env_name_case /tools/0/envPassthrough/0", "env_name_case /tools/0/envPassthrough/3"}; !slices.Equal(got, want) {
		t.Errorf("lint %q", m.Lint())
	}
}

func TestEnvironmentIsThatOfTheProcessByDefault(t *testing.T) {
	m := load(t, nil, tool("env").with("envPassthrough", []string{"TOOLWIRE_TEST_VARIABLE"}))
	t.Setenv("TOOLWIRE_TEST_VARIABLE", "set after loading")
	t.Setenv("TOOLWIRE_TEST_OTHER", "never passed")
	out, err := m.Call(t.Context(), "t", nil)
	if err != nil || !strings.Contains(string(out), "TOOLWIRE_TEST_VARIABLE=set after loading") ||
		strings.Contains(string(out), "never passed") {
		t.Errorf("the tool sees %s, err %v", out, err)
	}
}

func TestWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	m := load(t, &manifest.Options{WorkDir: dir}, tool("where"))
	t.Chdir(t.TempDir())
	out, err := m.Call(t.Context(), "t", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	_ = json.Unmarshal(out, &got)
	if !sameFile(t, got, dir) {
		t.Errorf("the tool runs in %s, want %s", got, dir)
	}
}
