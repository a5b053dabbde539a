// Package runfile has the format of the files that toolwire page writes, one for each run, and that page and show read.
package runfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/ledger"
)

const (
	format = "toolwire run 1"

	// Begin is how every file begins.
	Begin = `{"format":"toolwire run`

	// MaxBytes is the size of the largest file that is read.
	MaxBytes = 64 << 20
)

// A File is a run that is over.
type File struct {
	Result *dispatchtest.Result
	Page   *Page // nil if the file was written before files had it
}

// A Page is what the page knows of a run beside its result.
type Page struct {
	Form    json.RawMessage     `json:"form"`              // as it was sent
	Header  string              `json:"header,omitempty"`  // the name of the header for authentication, if one was sent
	Sample  bool                `json:"sample,omitempty"`  // the agent is the built-in one
	Earlier []dispatchtest.Turn `json:"earlier,omitempty"` // of the session, before the run
	Before  ledger.Snapshot     `json:"before"`
	Started time.Time           `json:"started"`
	Ended   time.Time           `json:"ended"`
}

// Encode returns the file without secrets.
func (f *File) Encode(secrets *redact.Set) ([]byte, error) {
	result, err := rawjson.Encode(f.Result)
	if err != nil {
		return nil, err
	}
	page, err := rawjson.Encode(f.Page)
	if err != nil {
		return nil, err
	}
	_, clean, _ := (&redact.Redactor{Secrets: secrets}).Body(rawjson.ObjectOf("format", format, "result", json.RawMessage(result), "page", json.RawMessage(page)))
	return clean, nil
}

// Read reads a file.
func Read(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	all, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(all) > MaxBytes {
		return nil, fmt.Errorf("the file has more than %d bytes", MaxBytes)
	}
	return Decode(all)
}

// Decode reads the text of a file.
func Decode(text []byte) (*File, error) {
	var members struct {
		Format string          `json:"format"`
		Result json.RawMessage `json:"result"`
		Page   *Page           `json:"page"`
	}
	if err := rawjson.DecodeOwn(text, &members); err != nil {
		return nil, err
	}
	if members.Format != format {
		return nil, fmt.Errorf("its format is %q, and this version reads %q", members.Format, format)
	}
	f := &File{Result: new(dispatchtest.Result), Page: members.Page}
	err := rawjson.DecodeOwn(members.Result, f.Result)
	if err == nil && len(f.Result.Turns) == 0 && f.Result.OK() {
		err = errors.New("it contains no dispatch")
	}
	return f, err
}
