package manifest

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// Manifest is a loaded tools.json. It is immutable and safe for concurrent use; all its calls share
// [Options.MaxParallel] places.
type Manifest struct {
	options Options // with defaults
	tools   []*tool // in the order of the document
	byName  map[string]*tool
	lint    []Problem
	places  chan struct{} // holds one value per running program
}

// tool is one entry, checked and resolved.
type tool struct {
	name, description string
	parameters        json.RawMessage // as written; nil when there is no schema
	argv              []string        // argv[0] is absolute
	passthrough       []string        // names of environment variables, normalized
	timeout           time.Duration
	arguments         argumentsCheck // nil without a schema
}

// Load reads a manifest file of at most 4 MiB. Relative programs resolve against its folder, whatever the working
// directory is or becomes. The error is an [*Error]: CodeRead, CodeParse with the place in the document, or CodeInvalid
// with all problems of all tools; there is no partial result. A manifest without tools is valid.
func Load(name string, options *Options) (*Manifest, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, readError(err)
	}
	defer f.Close()
	data, err := readAll(f)
	if err != nil {
		return nil, err
	}
	dir := ""
	if options != nil {
		dir = options.Dir
	}
	if dir == "" {
		dir = filepath.Dir(name)
	}
	return parse(data, dir, options)
}

// LoadFS is [Load] from a file system, for example an embedded one. Programs are on disk all the same: those written as
// ./tools/bin/NAME resolve against [Options.Dir] joined with the folder of name.
func LoadFS(fsys fs.FS, name string, options *Options) (*Manifest, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, readError(err)
	}
	defer f.Close()
	data, err := readAll(f)
	if err != nil {
		return nil, err
	}
	dir := ""
	if options != nil && options.Dir != "" {
		dir = filepath.Join(options.Dir, filepath.FromSlash(path.Dir(name)))
	}
	return parse(data, dir, options)
}

// Parse is [Load] for a document that is in memory already. It keeps nothing of data. Programs written as
// ./tools/bin/NAME resolve against [Options.Dir].
func Parse(data []byte, options *Options) (*Manifest, error) {
	dir := ""
	if options != nil {
		dir = options.Dir
	}
	return parse(data, dir, options)
}

// parse does not trust dir to be absolute; "" means that there is none.
func parse(data []byte, dir string, o *Options) (*Manifest, error) {
	options, problems := o.withDefaults()
	if dir != "" {
		options.Dir = absolute("Dir", dir, &problems)
	}
	switch {
	case options.WorkDir != "":
		options.WorkDir = absolute("WorkDir", options.WorkDir, &problems)
	case options.Dir != "":
		options.WorkDir = options.Dir
	default:
		options.WorkDir = absolute("WorkDir", ".", &problems)
	}
	if len(problems) > 0 {
		return nil, &Error{Code: CodeOptions, Message: "the options of the manifest are invalid", Problems: problems}
	}
	declared, lint, err := decode(data)
	if err != nil {
		return nil, err
	}
	m := &Manifest{
		options: options,
		byName:  make(map[string]*tool, len(declared)),
		places:  make(chan struct{}, options.MaxParallel),
	}
	c := checker{options: &m.options, names: make(map[string]bool, len(declared))}
	for i := range declared {
		t := c.check(i, &declared[i])
		m.tools = append(m.tools, t)
		m.byName[t.name] = t
	}
	if len(c.problems) > 0 {
		return nil, &Error{Code: CodeInvalid, Message: "the manifest is invalid", Problems: c.problems}
	}
	m.lint = append(lint, c.lint...)
	return m, nil
}

func absolute(field, dir string, problems *[]Problem) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		*problems = append(*problems, Problem{Index: -1, Field: field, Rule: RuleOption,
			Message: "options: " + field + " cannot be made absolute: " + err.Error()})
	}
	return abs
}

func readAll(f io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, readError(err)
	}
	return data, nil
}

func readError(err error) *Error {
	return &Error{Code: CodeRead, Message: "read manifest: " + err.Error(), err: err}
}

// Lint lists what is legal but probably not meant: members that the tools manifest does not know and that are
// therefore ignored (a misspelled timeoutSec, for example), names that model APIs refuse, no tools at all.
func (m *Manifest) Lint() []Problem { return append([]Problem(nil), m.lint...) }
