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

	"github.com/toolwire/toolwire/internal/strictjson"
)

// ReadOptions configures [Load] and [Parse]. The zero value of every field is its default.
type ReadOptions struct {
	// AllowTruncated makes use of a tape that ends early, because the process that recorded it died: a last line that was
	// not finished is left out, and a missing end is no problem. [Tape.Truncated] then says what was found.
	AllowTruncated bool

	// MaxBytes bounds the tape, MaxLineBytes one line of it. Defaults 64 MiB and 16 MiB.
	MaxBytes     int64
	MaxLineBytes int

	// MaxInteractions bounds their number. Default 100,000.
	MaxInteractions int
}

// Load reads a tape from a file; opts may be nil. It reads strictly: exact names, nothing unknown, nothing twice, numbers in
// sequence. Its error is an [*Error] with every problem and its line.
func Load(path string, opts *ReadOptions) (*Tape, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, newError(CodeMissing, path, err, "there is no such tape; record one with the mode Record")
	}
	if err != nil {
		return nil, newError(CodeRead, path, err, "the tape cannot be opened: %s", cause(err))
	}
	defer func() { _ = file.Close() }()
	return read(file, path, opts)
}

// Parse is [Load] for a tape that is in memory.
func Parse(data []byte, opts *ReadOptions) (*Tape, error) {
	return read(bytes.NewReader(data), "", opts)
}

// cause is a system's error without the path in it.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}

// tapeLimits are those of one line: two bodies within the limits of package proxy, and the line around them.
var tapeLimits = strictjson.Limits{Depth: 260}

const maxProblems = 100

// reading is a tape on its way in.
type reading struct {
	opts      ReadOptions
	tape      *Tape
	line      int
	last      int // number of an interaction
	problems  []Problem
	fatal     Code // of a problem that makes the rest unreadable
	ended     bool
	truncated bool
}

func read(from io.Reader, path string, opts *ReadOptions) (*Tape, error) {
	r := &reading{tape: &Tape{}}
	if opts != nil {
		r.opts = *opts
	}
	if r.opts.MaxBytes <= 0 {
		r.opts.MaxBytes = 64 << 20
	}
	if r.opts.MaxLineBytes <= 0 {
		r.opts.MaxLineBytes = 16 << 20
	}
	if r.opts.MaxInteractions <= 0 {
		r.opts.MaxInteractions = 100_000
	}
	if err := r.lines(from); err != nil {
		return nil, newError(CodeRead, path, err, "the tape cannot be read: %s", cause(err))
	}
	code := CodeTape
	switch {
	case r.fatal != "":
		code = r.fatal
	case r.line == 0:
		r.problem(0, "the tape is empty")
	case !r.ended && !r.truncated:
		r.truncate(0, fmt.Sprintf("the tape ends after line %d without a line {\"end\":true,…}", r.line))
	}
	if r.truncated && len(r.problems) > 0 {
		r.problem(0, "%s", r.tape.Truncated)
	} else if r.truncated && !r.opts.AllowTruncated {
		code = CodeTruncated
		whole := "%s; %s before that are whole, and AllowTruncated makes use of them"
		if len(r.tape.Interactions) == 1 {
			whole = "%s; %s before that is whole, and AllowTruncated makes use of it"
		}
		r.problem(0, whole, r.tape.Truncated, count(len(r.tape.Interactions), "interaction"))
	}
	if len(r.problems) > 0 {
		return nil, &Error{Code: code, Path: path, Problems: r.problems}
	}
	return r.tape, nil
}

func (r *reading) problem(line int, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{line, fmt.Sprintf(format, args...)})
	}
}

func (r *reading) truncate(line int, text string) {
	r.truncated = true
	r.tape.Truncated = Problem{line, text}.String()
}

// lines reads line by line. Its error is that of the reader.
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
		case total > r.opts.MaxBytes:
			r.fatal = CodeTape
			r.problem(r.line+1, "the tape has more than %d bytes; ReadOptions.MaxBytes allows more", r.opts.MaxBytes)
		case len(text) > r.opts.MaxLineBytes:
			r.fatal = CodeTape
			r.problem(r.line+1, "the line has more than %d bytes; ReadOptions.MaxLineBytes allows more", r.opts.MaxLineBytes)
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

// one reads one line; unfinished is one without a line break, which only the last can be.
func (r *reading) one(text []byte, unfinished bool) {
	if r.line == 1 {
		text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	}
	var err error
	switch {
	case r.ended && len(bytes.TrimSpace(text)) > 0:
		r.problem(r.line, "there is something after the tape's end")
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
	if unfinished && r.line > 1 && strictjson.Read(text, tapeLimits, walkAny) != nil {
		r.truncate(r.line, "the tape breaks off in the middle of this line")
		return
	}
	r.problem(r.line, "%s", err)
}

func walkAny(r *strictjson.Reader) error { _, err := r.Value(); return err }

// isEnd looks at a line that may be broken.
func (r *reading) isEnd(text []byte) (is bool) {
	_ = strictjson.Read(text, tapeLimits, func(read *strictjson.Reader) error {
		return read.Object(nil, func(name string) error {
			is = is || name == "end"
			return nil
		})
	})
	return is
}

// version looks for the version alone, because a later one may have members that are not known here.
func (r *reading) version(text []byte) (version int, err error) {
	err = strictjson.Read(text, tapeLimits, func(read *strictjson.Reader) error {
		return read.Object(nil, func(name string) error {
			if name == "cassette" {
				return readInt(&version)(read)
			}
			return nil
		})
	})
	if err == nil && version == 0 {
		err = errors.New(`it has no member "cassette" with the version of the format`)
	}
	return version, err
}

func (r *reading) header(text []byte) {
	header := &r.tape.Header
	version, err := r.version(text)
	if err == nil && version > Version {
		r.fatal = CodeVersion
		r.problem(r.line, "the tape is of version %d, and this release reads versions up to %d: use a later release", version, Version)
		return
	}
	members := object{
		"cassette": readInt(&header.Version),
		"created": func(read *strictjson.Reader) error {
			at, err := read.String()
			if err == nil && at != "" {
				if header.Created, err = time.Parse(time.RFC3339Nano, at); err != nil {
					err = read.Errorf("must be a time such as 2026-11-21T20:15:00Z")
				}
			}
			return err
		},
		"name":        readString(&header.Name),
		"instruction": readString(&header.Instruction),
		"input":       readRaw(&header.Input),
		"tools": func(read *strictjson.Reader) error {
			raw, err := read.Value()
			if err == nil && json.Unmarshal(raw, &header.Tools) != nil {
				err = read.Errorf("must be a list of names")
			}
			return err
		},
	}
	if err == nil {
		err = members.read(text)
	}
	if err != nil { // of a file that is no tape, one problem says enough
		r.fatal = CodeTape
		r.problem(r.line, "this is no header of a tape: %s", err)
	}
}

func (r *reading) end(text []byte) error {
	r.ended = true
	count := -1
	if err := (object{"end": walkAny, "count": readInt(&count)}).read(text); err != nil {
		return err
	}
	if n := len(r.tape.Interactions); count != n && len(r.problems) == 0 {
		return fmt.Errorf("the tape ends with the count %d and has %d interactions", count, n)
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
		r.last++ // most likely
		return err
	}
	i.Kind, i.Broken = Kind(kind), Break(broken)
	if retryAfter >= 0 {
		seconds := int64(retryAfter)
		i.RetryAfter = &seconds
	}
	if encoded != "" {
		var err error
		if i.AnswerBytes, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return errors.New("/answer_base64 is no base64")
		}
	}
	last := r.last
	switch {
	case len(r.tape.Interactions) == r.opts.MaxInteractions:
		r.fatal = CodeTape
		r.problem(r.line, "the tape has more than %d interactions; ReadOptions.MaxInteractions allows more", r.opts.MaxInteractions)
		return nil
	case i.Number < 1:
		return errors.New("/n must be the number of the interaction, from 1")
	case i.Number <= last:
		return fmt.Errorf("/n is %d after %d: the interaction is there twice, or the lines were put in another order", i.Number, last)
	}
	r.last = i.Number
	if i.Number != last+1 {
		return fmt.Errorf("/n is %d after %d: lines are missing", i.Number, last)
	}
	if i.After == -1 {
		i.After = last
	}
	r.tape.Interactions = append(r.tape.Interactions, i)
	return i.check()
}

// check reports everything that is wrong with an interaction beyond its form.
func (i *Interaction) check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if i.After < 0 || i.After >= i.Number {
		wrong("/after must be from 0 to %d, the number of an interaction before this one", i.Number-1)
	}
	if !slices.Contains([]Kind{KindTool, KindTrace, KindOther}, i.Kind) {
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
	case Reset, Abandoned:
	case Truncate, Oversize:
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
		wrong("only one of /answer, /answer_text and /answer_base64 can be there")
	}
	if i.Arguments != nil && i.ArgumentsText != "" {
		wrong("only one of /arguments and /arguments_text can be there")
	}
	return joined(errs)
}

// joined is one line of several errors.
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
