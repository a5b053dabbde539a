package manifest

import "time"

// ProgramPath makes the rules for Windows testable on every system.
var ProgramPath = programPath

// SetPipeWait replaces the time that calls wait for open pipes.
func (m *Manifest) SetPipeWait(d time.Duration) *Manifest {
	m.pipeWait = d
	return m
}

// Resolved returns what a call of the tool runs.
func (m *Manifest) Resolved(name string) (argv []string, workDir string, timeout time.Duration) {
	t := m.byName[name]
	return t.argv, m.options.WorkDir, t.timeout
}
