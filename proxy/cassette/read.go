package cassette

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// Limits of a tape: the bytes of the file and of one line, and the number of interactions.
const (
	maxTapeBytes    = 64 << 20
	maxLineBytes    = 16 << 20
	maxInteractions = 100_000
)

// Load reads a tape of at most 64 MiB, with lines of at most 16 MiB and at most 100,000
// interactions. Names must match exactly and must not repeat, unknown members are not allowed, and
// the numbers of the interactions must be in sequence.
//
// The error is an [*Error] with all problems and their lines. A tape that ends early, because the
// process that recorded it died, has the error code [CodeTruncated]. In this case, and only in this
// one, Load also returns a tape: the complete lines. To replay it, write [Tape.Encode] to a file.
func Load(path string) (*Tape, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, newError(CodeMissing, ruleFile, path, err,
			"the tape does not exist; record one with the mode Record")
	}
	if err != nil {
		return nil, newError(CodeRead, ruleFile, path, err, "the tape cannot be opened: %s", cause(err))
	}
	defer func() { _ = file.Close() }()
	return read(file, path)
}

// cause returns the error of the system, without the path.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}

// tapeLimits are the limits of one line. A line has two bodies within the limits of package proxy.
var tapeLimits = rawjson.Limits{Depth: 260}

const maxProblems = 100

// reading is the state of [Load].
type reading struct {
	tape      *Tape
	line      int
	last      int // number of an interaction
	problems  []Problem
	fatal     Code // of a problem that makes the rest unreadable
	ended     bool
	truncated *Problem // where the tape ends early; nil if it does not
}

func read(from io.Reader, path string) (*Tape, error) {
	r := &reading{tape: &Tape{}}
	if err := r.lines(from); err != nil {
		return nil, newError(CodeRead, ruleFile, path, err, "the tape cannot be read: %s", cause(err))
	}
	code := CodeTape
	switch {
	case r.fatal != "":
		code = r.fatal
	case r.line == 0:
		r.problem(0, ruleHeader, "the tape is empty")
	case !r.ended && r.truncated == nil:
		r.truncate(0, fmt.Sprintf("the tape ends after line %d without a line {\"end\":true,…}", r.line))
	}
	switch {
	case len(r.problems) == 0 && r.truncated != nil:
		p := *r.truncated
		complete := count(len(r.tape.Interactions), "complete interaction")
		p.Message += fmt.Sprintf("; Load returns the %s before that", complete)
		return r.tape, &Error{Code: CodeTruncated, Path: path, Problems: []Problem{p}}
	case len(r.problems) == 0:
		return r.tape, nil
	case r.truncated != nil && len(r.problems) < maxProblems:
		r.problems = append(r.problems, *r.truncated)
	}
	return nil, &Error{Code: code, Path: path, Problems: r.problems}
}

func (r *reading) problem(line int, rule, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{line, rule, fmt.Sprintf(format, args...)})
	}
}

func (r *reading) truncate(line int, text string) { r.truncated = &Problem{line, ruleTruncated, text} }

// lines reads line by line. Its error is the error of the reader.
func (r *reading) lines(from io.Reader) error {
	buffered := bufio.NewReaderSize(from, 64<<10)
	var text []byte
	total := int64(0)
	for r.fatal == "" {
		part, err := buffered.ReadSlice('\n')
		total += int64(len(part))
		text = append(text, part...)
		switch {
		case err != nil && err != io.EOF && err != bufio.ErrBufferFull:
			return err
		case total > maxTapeBytes:
			r.fatal = CodeTape
			r.problem(r.line+1, ruleLimit, "the tape has more than %d bytes", maxTapeBytes)
		case len(text) > maxLineBytes:
			r.fatal = CodeTape
			r.problem(r.line+1, ruleLimit, "the line has more than %d bytes", maxLineBytes)
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(text) == 0:
			return nil
		default:
			r.line++
			// The tape keeps parts of the line, so every line gets bytes of its own.
			r.one(bytes.Clone(bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))), err == io.EOF)
			text = text[:0]
			if err == io.EOF {
				return nil
			}
		}
	}
	return nil
}

// one reads one line. unfinished is true for the last line if it has no line break.
func (r *reading) one(text []byte, unfinished bool) {
	if r.line == 1 {
		text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	}
	var err error
	switch {
	case r.ended && len(bytes.TrimSpace(text)) > 0:
		r.problem(r.line, ruleSequence, "a line follows the end of the tape; remove it")
		return
	case r.ended:
		return
	case r.line == 1:
		r.header(text)
	case len(bytes.TrimSpace(text)) == 0:
		err = errors.New("the line is empty")
	case r.isEnd(text):
		err = r.end(text)
	default:
		err = r.interaction(text)
	}
	if err == nil {
		return
	}
	if unfinished && r.line > 1 && rawjson.Read(text, tapeLimits, walkAny) != nil {
		r.truncate(r.line, "the tape breaks off in the middle of this line")
		return
	}
	rule := ruleLine
	if _, ok := err.(outOfSequence); ok {
		rule = ruleSequence
	}
	r.problem(r.line, rule, "%s", err)
}

// outOfSequence is an error with the code sequence.
type outOfSequence string

func (e outOfSequence) Error() string { return string(e) }

func walkAny(r *rawjson.Reader) error { _, err := r.Value(); return err }

// isEnd reports whether a line, which may be incomplete, is the last line of a tape.
func (r *reading) isEnd(text []byte) (is bool) {
	_ = rawjson.Read(text, tapeLimits, func(read *rawjson.Reader) error {
		return read.Object(nil, func(name string) error {
			is = is || name == "end"
			return nil
		})
	})
	return is
}

// version reads the version and ignores all other members, because a later version may have members
// that this release does not know.
func (r *reading) version(text []byte) (version int, err error) {
	err = rawjson.Read(text, tapeLimits, func(read *rawjson.Reader) error {
		return read.Object(nil, func(name string) error {
			if name == "cassette" {
				return readInt(&version)(read)
			}
			return nil
		})
	})
	if err == nil && version == 0 {
		err = errors.New(`the member "cassette" with the version of the format is missing`)
	}
	return version, err
}

func (r *reading) header(text []byte) {
	found, err := r.version(text)
	if err == nil && found > version {
		r.fatal = CodeVersion
		r.problem(r.line, ruleVersion,
			"the tape has version %d, and this release reads versions up to %d; use a later release", found, version)
		return
	}
	members := object{
		"cassette": readInt(&found),
		"created": func(read *rawjson.Reader) error {
			at, err := read.String()
			if err == nil && at != "" {
				if r.tape.Created, err = time.Parse(time.RFC3339Nano, at); err != nil {
					err = read.Errorf("must be a time such as 2026-11-21T20:15:00Z")
				}
			}
			return err
		},
		"name":        readString(&r.tape.Task.Name),
		"instruction": readString(&r.tape.Task.Instruction),
		"input":       readRaw(&r.tape.Task.Input),
		"tools": func(read *rawjson.Reader) error {
			raw, err := read.Value()
			if err == nil && json.Unmarshal(raw, &r.tape.Task.Tools) != nil {
				err = read.Errorf("must be a list of names")
			}
			return err
		},
	}
	if err == nil {
		err = members.read(text)
	}
	if err != nil { // the file is not a tape, so further problems would not help
		r.fatal = CodeTape
		r.problem(r.line, ruleHeader, "this is not the header of a tape: %s", err)
	}
}

func (r *reading) end(text []byte) error {
	r.ended = true
	count := -1
	if err := (object{"end": walkAny, "count": readInt(&count)}).read(text); err != nil {
		return err
	}
	if n := len(r.tape.Interactions); count != n && len(r.problems) == 0 {
		return outOfSequence(fmt.Sprintf("the tape ends with the count %d and has %d interactions", count, n))
	}
	return nil
}

func (r *reading) interaction(text []byte) error {
	i := Interaction{Line: r.line, After: -1}
	var kind, broken, encoded string
	retryAfter := -1
	members := object{
		"n": readInt(&i.Number), "after": readInt(&i.After), "kind": readString(&kind), "name": readString(&i.Name),
		"method": readString(&i.Method), "actor": readString(&i.Actor), "arguments": readRaw(&i.Arguments),
		"arguments_text": readString(&i.ArgumentsText), "status": readInt(&i.Status), "broken": readString(&broken),
		"content_type": readString(&i.ContentType), "retry_after": readInt(&retryAfter), "answer": readRaw(&i.Answer),
		"answer_text": readString(&i.AnswerText), "answer_base64": readString(&encoded),
		"at_ms": readFloat(&i.AtMS), "latency_ms": readFloat(&i.LatencyMS),
	}
	if err := members.read(text); err != nil {
		r.last++ // the line most likely has the next number
		return err
	}
	i.Kind, i.Broken = kind, broken
	if retryAfter >= 0 {
		seconds := int64(retryAfter)
		i.RetryAfter = &seconds
	}
	if encoded != "" {
		var err error
		if i.AnswerBytes, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return errors.New("/answer_base64 is not base64")
		}
	}
	last := r.last
	switch {
	case len(r.tape.Interactions) == maxInteractions:
		r.fatal = CodeTape
		r.problem(r.line, ruleLimit, "the tape has more than %d interactions", maxInteractions)
		return nil
	case i.Number < 1:
		return outOfSequence("/n must be the number of the interaction, from 1")
	case i.Number <= last:
		return outOfSequence(fmt.Sprintf("/n is %d after %d: the interaction repeats, or the lines are out of order",
			i.Number, last))
	}
	r.last = i.Number
	if i.Number != last+1 {
		return outOfSequence(fmt.Sprintf("/n is %d after %d: lines are missing", i.Number, last))
	}
	if i.After == -1 {
		i.After = last
	}
	r.tape.Interactions = append(r.tape.Interactions, i)
	return i.check()
}

// check reports all values of an interaction that are not valid.
func (i *Interaction) check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if i.After < 0 || i.After >= i.Number {
		wrong("/after must be from 0 to %d, the number of an interaction before this one", i.Number-1)
	}
	if !slices.Contains([]string{kindTool, kindTrace, kindOther}, i.Kind) {
		wrong("/kind must be tool, trace or other")
	}
	if i.Name == "" {
		wrong("/name is missing")
	}
	switch i.Broken {
	case "":
		if i.Status < 200 || i.Status > 999 {
			wrong("/status must be from 200 to 999")
		}
	case brokenReset, brokenAbandoned:
	case brokenTruncate, brokenOversize:
		if i.Status < 200 || i.Status > 999 {
			wrong("/status must be from 200 to 999: the answer had begun")
		}
	default:
		wrong("/broken must be reset, truncate, oversize or abandoned")
	}
	bodies := 0
	for _, is := range []bool{i.Answer != nil, i.AnswerText != "", i.AnswerBytes != nil} {
		if is {
			bodies++
		}
	}
	if bodies > 1 {
		wrong("only one of /answer, /answer_text and /answer_base64 is allowed")
	}
	if i.Arguments != nil && i.ArgumentsText != "" {
		wrong("only one of /arguments and /arguments_text is allowed")
	}
	return joined(errs)
}

// joined returns one error with the texts of all errors on one line.
func joined(errs []error) error {
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	text := errs[0].Error()
	for _, err := range errs[1:] {
		text += "; " + err.Error()
	}
	return errors.New(text)
}
