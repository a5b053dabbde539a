package llm

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
)

// fuzzSplitter makes sure that a stream has the same events in pieces of any size, and reads them.
func fuzzSplitter(f *testing.F, format Format, split func() splitter) {
	d := dialects[format]
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		eventsOf := func(stream []byte, size int) (events []string) {
			s, a, used := split(), d.answer(), usage{}
			take := func(data []byte) {
				events = append(events, string(data))
				if validate(data) == nil {
					used.read(data, &d.tokens)
					a.read(data)
				}
			}
			for piece := range slices.Chunk(bytes.Clone(stream), size) {
				s.feed(piece, take)
				clear(piece) // an SDK uses its buffer again
			}
			s.end(take)
			convert(d, whole(a))
			return events
		}
		all := eventsOf(stream, len(stream)+1)
		if parts := eventsOf(stream, int(size)+1); !slices.Equal(all, parts) {
			t.Fatalf("%q, and in pieces %q", all, parts)
		}
		cost.Linear(t, "a stream", stream, func(n int) []byte { return bytes.Repeat(stream, n) }, func(stream []byte) { eventsOf(stream, 512) })
	})
}

func FuzzFrames(f *testing.F) {
	for name, payload := range map[string]string{
		"contentBlockStart": `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}`, "contentBlockDelta": `{"contentBlockIndex":0,"delta":{"text":"a"}}`,
		"metadata": `{"usage":{"inputTokens":1}}`, "chunk": `{"bytes":"e30="}`, "": `x`,
	} {
		head := append([]byte{11}, ":event-type\x07\x00"...)
		head = append(append(append(head, byte(len(name))), name...), "\x0d:message-type\x07\x00\x05event"...)
		frame := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
		frame = binary.BigEndian.AppendUint32(frame, uint32(len(head)))
		frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
		frame = append(append(frame, head...), payload...)
		f.Add(binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame)), uint8(2))
	}
	fuzzSplitter(f, Converse, func() splitter { return &frames{} })
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"message":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}`+"\n"+`{"message":{},"done":true,"eval_count":1}`), uint8(2))
	f.Add([]byte("{\n \"message\": {}\n}\n\n}x\n{\"a"), uint8(0))
	fuzzSplitter(f, Ollama, func() splitter { return &lines{} })
}
