package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/redact"
)

// AuditRecord describes one run of a program, or one failed start. Calls that fail earlier have no
// record. A record contains neither arguments of the call nor output. Of allowlisted variables it
// contains only the names: in Argv and WorkDir, "[redacted]" replaces their values of 6 bytes or
// more.
type AuditRecord struct {
	Time        time.Time     `json:"ts"` // of the start, UTC
	CallID      string        `json:"callId,omitempty"`
	Tool        string        `json:"tool"`
	Argv        []string      `json:"argv"` // of the manifest; Argv[0] is the absolute path
	WorkDir     string        `json:"cwd"`
	Exit        int           `json:"exit"` // -1 if a signal ended the program or it did not start
	Millis      int64         `json:"ms"`
	StdoutBytes int64         `json:"stdoutBytes"` // bytes read, including those beyond the limits
	StderrBytes int64         `json:"stderrBytes"`
	Truncated   bool          `json:"truncated"`         // as in [Result]
	EnvKeys     []string      `json:"envKeys,omitempty"` // allowlisted names that were set and passed
	Code        toolwire.Code `json:"code,omitempty"`    // of the failure; "" for success
}

// minHiddenValue is the least length of a value that a record hides. Shorter ones such as "1" and
// "true" occur everywhere in paths.
const minHiddenValue = 6

// hide replaces the values of variables, which are written NAME=value.
func (r *AuditRecord) hide(variables []string) {
	var values []string
	for _, entry := range variables {
		if _, value, _ := strings.Cut(entry, "="); len(value) >= minHiddenValue {
			values = append(values, value)
		}
	}
	secrets := redact.New(values...)
	r.WorkDir = secrets.Redact(r.WorkDir)
	for i, arg := range r.Argv {
		r.Argv[i] = secrets.Redact(arg)
	}
}

// AuditLog returns a function for [Options.Audit] that appends records as JSON Lines to one file
// per UTC day, dir/YYYYMMDD.log. It creates dir if necessary. Only the owner can read the folder
// (mode 0700, if AuditLog creates it) and the files (0600). Windows ignores these modes; there the
// permissions of the parent folder apply. Goroutines and processes can share dir, because each
// record is one write in append mode.
//
// For each record that cannot be written, logger receives a warning with the tool and the error. If
// logger is nil, nothing is logged. A call does not fail if its record cannot be written.
//
//	audit, err := manifest.AuditLog(".goagent/audit", slog.Default())
//	m, err := manifest.Load("tools.json", &manifest.Options{Audit: audit})
func AuditLog(dir string, logger *slog.Logger) (func(AuditRecord), error) {
	if dir == "" {
		return nil, &Error{Code: toolwire.CodeInvalidOptions, Message: "the folder of the audit log is missing; give a path"}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &Error{Code: toolwire.CodeInvalidOptions, Err: err,
			Message: fmt.Sprintf("the folder of the audit log cannot be created: %v", err)}
	}
	return func(r AuditRecord) {
		if err := appendRecord(dir, r); err != nil && logger != nil {
			logger.Warn("the audit record of a tool call could not be written", "tool", r.Tool, "error", err)
		}
	}, nil
}

func appendRecord(dir string, r AuditRecord) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil { // the folder may have been moved since
		return err
	}
	name := filepath.Join(dir, r.Time.UTC().Format("20060102")+".log")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
