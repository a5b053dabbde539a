package llmtest

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire/dispatch/internal/modelpath"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// amazon has what the APIs of Amazon Bedrock share.
type amazon struct{}

func (amazon) header(h http.Header, id string, status int) {
	h.Set("X-Amzn-Requestid", id)
	if status != 0 {
		h.Set("X-Amzn-Errortype", exceptionName(status))
	}
}

// exceptionName returns the type of an error.
func exceptionName(status int) string {
	usual := "InternalServerException"
	if status < 500 {
		usual = "ValidationException"
	}
	return cmp.Or(map[int]string{
		401: "UnrecognizedClientException", 403: "AccessDeniedException", 404: "ResourceNotFoundException", 408: "ModelTimeoutException",
		424: "ModelErrorException", 429: "ThrottlingException", 503: "ServiceUnavailableException",
	}[status], usual)
}

func (amazon) failure(f failure) json.RawMessage { return object("message", f.message) }

// failed returns an exception of a stream, which has fewer types.
func (f amazon) failed(_ *answer, e failure, _ int) []event {
	name := map[int]string{
		400: "validationException", 408: "modelTimeoutException", 429: "throttlingException", 500: "internalServerException",
		503: "serviceUnavailableException",
	}[e.status]
	return []event{{name: cmp.Or(name, "modelStreamErrorException"), data: f.failure(e), form: exception}}
}

// frame returns a frame of a binary stream, whose headers are names and values in turn.
func frame(payload []byte, headers ...string) []byte {
	var head []byte
	for i := 0; i < len(headers); i += 2 {
		head = append(head, byte(len(headers[i])))
		head = append(append(head, headers[i]...), 7)
		head = binary.BigEndian.AppendUint16(head, uint16(len(headers[i+1])))
		head = append(head, headers[i+1]...)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(head)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, head...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

// invoke is Anthropic's Messages on Amazon Bedrock: InvokeModel and InvokeModelWithResponseStream.
type invoke struct{ amazon }

func (invoke) name() llm.Format { return llm.Anthropic }

func (invoke) read(q *Request, previous func(string) ([]message, bool)) error {
	err := anthropic{}.read(q, previous)
	q.Model, q.Stream = modelpath.Model(q.path), strings.HasSuffix(q.path, "/invoke-with-response-stream")
	if rawjson.Member(q.Body, "anthropic_version") == nil {
		return errors.New("anthropic_version: Field required")
	}
	for _, name := range []string{"model", "stream"} {
		if rawjson.Member(q.Body, name) != nil {
			return errors.New(name + ": Extra inputs are not permitted")
		}
	}
	return err
}

func (invoke) whole(a *answer) json.RawMessage { return anthropic{}.whole(a) }

func (invoke) events(a *answer) (events []event) {
	for _, e := range (anthropic{}).events(a) {
		events = append(events, event{name: "chunk", data: object("bytes", base64.StdEncoding.EncodeToString(e.data)), form: framed})
	}
	return events
}
