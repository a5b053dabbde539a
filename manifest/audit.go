package manifest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/process"
	"github.com/toolwire/toolwire/internal/redact"
)

// AuditRecord tells of one run of a program, also of one that could not be started; calls that are refused before that
// have none. It never holds arguments of the call or output, and of allowlisted variables only the names.
type AuditRecord struct {
	Time        time.Time `json:"ts"` // of the start, UTC
	CallID      string    `json:"callId,omitempty"`
	Tool        string    `json:"tool"`
	Argv        []string  `json:"argv"` // of the manifest, resolved and redacted
	WorkDir     string    `json:"cwd"`  // redacted
	Exit        int       `json:"exit"` // -1 when a signal ended the program, or it did not start
	Millis      int64     `json:"ms"`
	StdoutBytes int64     `json:"stdoutBytes"` // read, also beyond the limits
	StderrBytes int64     `json:"stderrBytes"`
	Truncated   bool      `json:"truncated"`         // as in Result
	EnvKeys     []string  `json:"envKeys,omitempty"` // allowlisted names that were set and passed
	Code        Code      `json:"code,omitempty"`    // of the failure; "" for success
}

// minSecret is how long the value of a variable must be to be hidden: "1" and "true" are not secrets, and hiding them would
// leave nothing to read.
const minSecret = 6

// audit reports the run of a program whose outcome can no longer change.
func (m *Manifest) audit(t *tool, begin time.Time, o *process.Outcome, r *Result, env, passed []string) {
	hide := m.redactor(env, passed)
	record := AuditRecord{
		Time: begin.UTC(), CallID: r.CallID, Tool: t.name, WorkDir: hide(m.options.WorkDir),
		Exit: r.ExitCode, Millis: r.Duration.Milliseconds(),
		StdoutBytes: o.Stdout.Total, StderrBytes: o.Stderr.Total, Truncated: r.Truncated, EnvKeys: passed,
	}
	for _, arg := range t.argv {
		record.Argv = append(record.Argv, hide(arg))
	}
	if e, ok := errors.AsType[*Error](r.Err); ok {
		record.Code = e.Code
	}
	if err := m.options.Audit(record); err != nil {
		m.options.Logger.Warn("the audit record of a tool call could not be written", "tool", t.name, "error", err)
	}
}

// redactor hides the values of passed variables, then applies the caller's own rules.
func (m *Manifest) redactor(env, passed []string) func(string) string {
	var values []string
	for _, entry := range env[len(env)-len(passed):] { // passed variables stand last
		if _, value, _ := strings.Cut(entry, "="); len(value) >= minSecret {
			values = append(values, value)
		}
	}
	secrets := redact.New(values...)
	return func(s string) string { return m.options.Redact(secrets.Text(s)) }
}

// AuditLog appends records as JSON Lines to one file per UTC day, Dir/YYYYMMDD.log. Only the owner can read the files
// (mode 0600) and the folder, if it has to be made (0700). Each record is one write in append mode, so several goroutines
// and processes may share a folder. The zero value is not usable; there is nothing to close.
//
//	log := &manifest.AuditLog{Dir: ".goagent/audit"}
//	m, err := manifest.Load("tools.json", &manifest.Options{Audit: log.Write})
type AuditLog struct {
	Dir string
}

// Write appends one record.
func (l *AuditLog) Write(record AuditRecord) error {
	if l.Dir == "" {
		return errors.New("manifest: AuditLog.Dir is empty")
	}
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return err
	}
	name := filepath.Join(l.Dir, record.Time.UTC().Format("20060102")+".log")
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
