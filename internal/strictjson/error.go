package strictjson

import (
	"errors"
	"fmt"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Error says where a document is wrong and why. It names members and positions, never values.
type Error struct {
	Offset  int64  // bytes from the start of the document
	Pointer string // JSON Pointer (RFC 6901) of the value concerned; "" is the document itself
	Problem string
}

func (e *Error) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Problem)
	}
	return fmt.Sprintf("invalid JSON at byte %d: %s %s", e.Offset, e.Pointer, e.Problem)
}

func errorf(offset int64, pointer, format string, args ...any) *Error {
	return &Error{Offset: offset, Pointer: cut(pointer), Problem: fmt.Sprintf(format, args...)}
}

// wrap turns the decoder's errors into ours; their texts quote at most one character of the input. nil stays nil.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return errorf(syntax.ByteOffset, string(syntax.JSONPointer), "%s", problem(syntax.Err))
	}
	if semantic, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		return errorf(semantic.ByteOffset, string(semantic.JSONPointer), "is not of the expected type")
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errorf(0, "", "the document is empty or ends too early")
	}
	return errorf(0, "", "cannot be read")
}

func problem(err error) string {
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "stands twice in its object"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "ends before the JSON value is complete"
	}
	return err.Error()
}

// cut bounds a text that the peer chose before it goes into a message.
func cut(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end] + "…"
}
