package jsonschema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// Fault is one reason for which a schema cannot be used.
type Fault struct {
	// Code is invalid, not_json, too_large, too_deep, too_complex, ref_broken, ref_remote, ref_cycle,
	// pattern_unsupported, no_keyword, keyword_ignored or draft_unknown; of a note old_form, member_null or
	// annotation_invalid.
	Code    string
	Pointer string // JSON Pointer into the schema as its author wrote it; "" is its root
	Message string
}

// Unchecked reports whether something may limit what is valid and is not checked here. Another validator
// may accept the schema.
func (f Fault) Unchecked() bool {
	return LetsThrough(f.Code) || f.Code == "keyword_ignored" || f.Code == "draft_unknown"
}

// LetsThrough reports whether a fault of this code, with or without "schema_" before it, lets documents
// through that the author of the schema may have excluded. Packages that run functions refuse such
// schemas.
func LetsThrough(code string) bool {
	return slices.Contains(letThrough, strings.TrimPrefix(code, "schema_"))
}

var letThrough = []string{"too_large", "too_deep", "too_complex", "ref_remote", "pattern_unsupported", "no_keyword"}

// Rewritten reports whether a note of this code, with or without "schema_" before it, is about a part of
// a schema that is read otherwise than it is written.
func Rewritten(code string) bool {
	return slices.Contains([]string{"old_form", "member_null", "annotation_invalid"}, strings.TrimPrefix(code, "schema_"))
}

// faults is the error for a schema that cannot be used.
type faults []Fault

func (f faults) Error() string { return f[0].Message }

// Invalid reports whether no validator can use a schema with these faults.
func Invalid(found []Fault) bool {
	return slices.ContainsFunc(found, func(f Fault) bool { return !f.Unchecked() })
}

// Issue is one way in which a document does not match.
type Issue struct {
	Pointer string // JSON Pointer into the document; "" is its root
	Keyword string // the schema keyword that failed
	Message string // one short sentence about the place, without any value of the document
}

// InvalidError is the error for a document that does not match or that was not validated.
type InvalidError struct {
	Code   string // mismatch, not_json, limit
	Issues []Issue
	More   int // further issues, beyond the limit
}

func (e *InvalidError) Error() string { return e.Issues[0].Message }

func limitError(format string, args ...any) *InvalidError {
	return &InvalidError{Code: "limit", Issues: []Issue{{Message: fmt.Sprintf(format, args...)}}}
}

// documentFault returns the fault of a schema that cannot be read.
func documentFault(err error) Fault {
	if own, ok := errors.AsType[*rawjson.Error](err); ok {
		return Fault{Code: documentCode(own), Pointer: own.Pointer, Message: documentProblem(own)}
	}
	return Fault{Code: "not_json", Message: "is not valid JSON"}
}

// documentError returns the error for a document that cannot be read, or nil if err is nil.
func documentError(err error) error {
	own, ok := errors.AsType[*rawjson.Error](err)
	if !ok {
		return err
	}
	code := "limit"
	if documentCode(own) == "not_json" {
		code = "not_json"
	}
	return &InvalidError{Code: code, Issues: []Issue{{Pointer: own.Pointer, Message: documentProblem(own)}}}
}

func documentCode(e *rawjson.Error) string {
	switch e.Limit {
	case rawjson.LimitDepth:
		return "too_deep"
	case rawjson.LimitValues, rawjson.LimitNumberLen, rawjson.LimitExponent:
		return "too_complex"
	}
	return "not_json"
}

func documentProblem(e *rawjson.Error) string {
	if documentCode(e) == "not_json" {
		return fmt.Sprintf("is not valid JSON at byte %d: %s", e.Offset, e.Problem)
	}
	return e.Problem
}

const maxText = 80
