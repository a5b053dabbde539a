package doctorcmd

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/manifest"
)

// documents checks the manifest and the dataset. Check does not: they do not belong to the
// endpoint.
func (f *flags) documents() (list []doctor.Finding) {
	if f.manifest != "" {
		list = append(list, checkManifest(f.manifest))
	}
	if f.dataset != "" {
		list = append(list, checkDataset(f.rows))
	}
	return list
}

// checkManifest loads a tools manifest and looks for its programs.
func checkManifest(file string) doctor.Finding {
	found := doctor.Finding{Name: "manifest", Status: doctor.StatusFailed}
	m, err := manifest.Load(file, nil)
	if err != nil {
		found.Seen, found.Details = "it cannot be loaded", manifestProblems(err)
		found.Do = "Correct the manifest. The tools manifest page describes each member."
		return found
	}
	if err := m.CheckPrograms(); err != nil {
		found.Seen, found.Details = "programs are missing or cannot be executed", manifestProblems(err)
		found.Do = "Build the programs, or correct command: relative commands begin with ./tools/bin/, beside the manifest."
		return found
	}
	found.Status, found.Seen = doctor.StatusOK, text.Plural(len(m.Tools()), "tool")+", with their programs"
	for _, p := range m.Lint() {
		found.Status, found.Do = doctor.StatusWarning, "The manifest loads. Check whether this is intended."
		found.Details = append(found.Details, p.Message)
	}
	return found
}

func manifestProblems(err error) (lines []string) {
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok || len(e.Problems) == 0 {
		return []string{err.Error()}
	}
	for _, p := range e.Problems {
		lines = append(lines, p.Message)
	}
	return lines
}

// checkDataset reads a dataset.
func checkDataset(rows []byte) doctor.Finding {
	found := doctor.Finding{Name: "dataset"}
	set, err := eval.Read(bytes.NewReader(rows))
	bad, ok := errors.AsType[*eval.Error](err)
	if !ok {
		found.Status, found.Seen = doctor.StatusOK, text.Plural(set.Rows, "row")+", columns "+strings.Join(set.Columns, ", ")
		return found
	}
	found.Status, found.Seen = doctor.StatusFailed, "the platform would reject the dataset, or read a column as another one"
	found.Do = "Correct the cells. The columns are user, behavior, state, failure_rules and expected_outcome; only user is required."
	for _, p := range bad.Problems {
		found.Details = append(found.Details, p.String())
	}
	if bad.More > 0 {
		found.Details = append(found.Details, fmt.Sprintf("%d more problems", bad.More))
	}
	return found
}
