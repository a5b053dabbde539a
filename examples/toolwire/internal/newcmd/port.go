package newcmd

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"strings"
	"text/template"
)

// The folder port is a whole program: an endpoint without a model, which the tests of this module
// compile and run. The folders in testdata have the files that another kind or model replaces. The
// go command ignores testdata, because this module does not have the SDKs; the gate writes the projects
// and compiles them as modules of their own. The folder python has an agent in Python.
//
//go:embed all:port testdata python
var sample embed.FS

const (
	toolwire  = "github.com/toolwire/toolwire"
	goVersion = "1.26.0"
)

// An sdk is a model's Go SDK. The sample code has the names of OpenAI's variables.
type sdk struct {
	model    string // the value of -model
	name     string
	module   string
	version  string
	endpoint string   // the environment variable of its URL
	keys     []string // the environment variables of its credentials
	more     string   // another module with its version; "" for none
}

var sdks = []sdk{
	{"openai", "OpenAI's Go SDK", "github.com/openai/openai-go/v3", "v3.96.0", "OPENAI_BASE_URL", []string{"OPENAI_API_KEY"}, ""},
	{"anthropic", "Anthropic's Go SDK", "github.com/anthropics/anthropic-sdk-go", "v1.84.0", "ANTHROPIC_BASE_URL", []string{"ANTHROPIC_API_KEY"}, ""},
	{"genai", "Google's Go SDK for Gemini", "google.golang.org/genai", "v1.77.0", "GOOGLE_GEMINI_BASE_URL", []string{"GEMINI_API_KEY"}, ""},
	{"bedrock", "Amazon's Go SDK for Bedrock", "github.com/aws/aws-sdk-go-v2/service/bedrockruntime", "v1.63.13", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
		[]string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}, "github.com/aws/aws-sdk-go-v2/config v1.33.10"},
	{"ollama", "Ollama's Go client", "github.com/ollama/ollama", "v0.17.4", "OLLAMA_HOST", nil, ""},
}

func modelNames() []string {
	names := []string{"none"}
	for _, s := range sdks {
		names = append(names, s.model)
	}
	return names
}

// A port is the project that the command line asks for.
type port struct {
	Kind, Model     string
	Module, Replace string
	Version         string // of Toolwire, if it is a release and there is no Replace
}

// files returns the files of the project by name, with slashes.
func (p *port) files() (map[string][]byte, error) {
	contents := map[string][]byte{}
	for _, folder := range p.layers() {
		err := fs.WalkDir(sample, folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := sample.ReadFile(name)
			contents[strings.TrimPrefix(name, folder+"/")] = text
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if p.Kind == "python" {
		maps.DeleteFunc(contents, func(name string, _ []byte) bool {
			return strings.HasSuffix(name, ".go") || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".tmpl")
		})
		return contents, nil
	}
	return contents, p.fill(contents)
}

// layers returns the folders of the project. Files of later folders replace files of earlier ones.
func (p *port) layers() []string {
	layers := []string{"port"}
	switch p.Kind {
	case "python":
		return append(layers, "python")
	case "codemode":
		layers = append(layers, "testdata/codemode")
	}
	if p.Model != "none" {
		layers = append(layers, "testdata/model", "testdata/"+p.Model)
	}
	if p.Kind == "codemode" && p.Model != "none" {
		layers = append(layers, "testdata/codemode-model")
	}
	return layers
}

var majorVersion = regexp.MustCompile(`^v([2-9]|[1-9][0-9]+)$`)

// fill puts in what depends on names: go.mod, the README, and the variables of an SDK.
func (p *port) fill(contents map[string][]byte) error {
	base := path.Base(p.Module)
	if parent := path.Dir(p.Module); parent != "." && majorVersion.MatchString(base) {
		base = path.Base(parent) // as go build names the program
	}
	values := struct {
		*port
		Name, SDK string
		Keys      []string
		Endpoint  bool
	}{port: p, Name: base, Endpoint: p.Kind == "endpoint"}
	requirements := ""
	for _, s := range sdks {
		if s.model != p.Model {
			continue
		}
		values.SDK, values.Keys = s.name, s.keys
		requirements = fmt.Sprintf("\nrequire %s %s\n", s.module, s.version)
		if s.more != "" {
			requirements += "\nrequire " + s.more + "\n"
		}
		for name, text := range contents {
			if strings.HasSuffix(name, ".go") {
				contents[name] = []byte(s.rename(string(text)))
			}
		}
	}
	requirements += fmt.Sprintf("\nrequire %s %s\n\ntool %[1]s/examples/toolwire\n", toolwire, cmp.Or(p.Version, "v0.0.0"))
	if p.Replace != "" {
		requirements += fmt.Sprintf("\nreplace %s => %q\n", toolwire, p.Replace)
	}
	contents["go.mod"] = fmt.Appendf(nil, "module %s\n\ngo %s\n%s", p.Module, goVersion, requirements)
	contents[".gitignore"] = bytes.ReplaceAll(contents[".gitignore"], []byte("/agent"), []byte("/"+base))

	const readme = "README.md.tmpl"
	page, err := template.New(readme).Parse(string(contents[readme]))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := page.Execute(&text, values); err != nil {
		return err
	}
	delete(contents, readme)
	contents["README.md"] = text.Bytes()
	return nil
}

// rename puts the names of the variables in. A line with the name of a key stands once for each key.
func (s *sdk) rename(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(text, "OPENAI_BASE_URL", s.endpoint)) {
		if !strings.Contains(line, "OPENAI_API_KEY") {
			out.WriteString(line)
			continue
		}
		for _, key := range s.keys {
			out.WriteString(strings.ReplaceAll(line, "OPENAI_API_KEY", key))
		}
	}
	return out.String()
}
