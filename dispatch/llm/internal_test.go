package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/cost"
)

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A Transport lives as long as the program. It does not keep a run that is over.
func TestStateOfRunsIsFreed(t *testing.T) {
	transport := &Transport{Base: transportFunc(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"choices":[]}`))}, err
	})}
	var freed atomic.Int64
	for range 20 {
		_, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			runtime.AddCleanup(run, func(int) { freed.Add(1) }, 0)
			r, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com/v1/chat/completions", strings.NewReader(`{"messages":[{"role":"user","content":"a"}]}`))
			if err != nil {
				return nil, err
			}
			resp, err := transport.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			return &dispatch.Response{FinalResponse: "done"}, resp.Body.Close()
		}}, dispatchtest.Task{})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; freed.Load() < 19; i++ { // the stack may still refer to the last one
		if i == 10_000 {
			t.Fatalf("%d runs of 20 are freed", freed.Load())
		}
		runtime.GC()
		runtime.Gosched()
	}
}

// The copy of a request is not kept while the response comes.
func TestRequestIsDropped(t *testing.T) {
	x := newExchange(t.Context(), dialects[OpenAIChat], &runState{run: &dispatch.Run{}, transcript: unheard{}})
	r, err := http.NewRequestWithContext(t.Context(), "POST", "https://model.example.com/", strings.NewReader(`{"messages":[{"role":"user","content":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, x.watchRequest(r).Body); err != nil {
		t.Fatal(err)
	}
	x.watchResponse(&http.Response{Header: http.Header{}, Body: http.NoBody})
	if kept, _ := x.request.Load().bytes(); !x.begun || kept != nil {
		t.Errorf("begun %t, kept %q", x.begun, kept)
	}
}

// Server-sent events, as the HTML standard has them.
func TestEvents(t *testing.T) {
	for _, tt := range []struct {
		stream string
		want   []string
	}{
		{"data: a\n\ndata:b\n\n", []string{"a", "b"}},
		{"data:  a \n\n", []string{" a "}},
		{"data: a\ndata: b\n\n", []string{"a\nb"}},
		{"data:\ndata:\n\n", []string{"\n"}},
		{"data: a\r\rdata: b\r\n\r\n", []string{"a", "b"}},
		{": c\nevent: e\nid: 1\ndata: a\nretry: 1\n\n\n\n", []string{"a"}},
		{"data: " + strings.Repeat("a", 5<<20) + "\ndata: " + strings.Repeat("a", 5<<20) + "\ndata: c\n\ndata: b\n\n", []string{"too large", "b"}},
		{"data: " + strings.Repeat("a", 9<<20) + "\ndata: c\n\ndata: b\n\n", []string{"too large", "b"}},
		{"data: a", []string{"a"}},
	} {
		var got []string
		e := events{data: []byte{}}
		take := func(data []byte) {
			if data == nil {
				data = []byte("too large")
			}
			got = append(got, string(data))
		}
		e.feed([]byte(tt.stream), take)
		e.end(take)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%.50q: %.50q, want %q", tt.stream, got, tt.want)
		}
	}
}

func streamOf(data string) []byte { return []byte("data: " + data + "\n\n") }

// whole returns the elements of an answer that is used.
func whole(a answer) []json.RawMessage {
	if a.common().fault() != "" {
		return nil
	}
	return a.elements()
}

// convert converts the elements of an answer.
func convert(d *dialect, elements []json.RawMessage) {
	c := converter{dialect: d, made: made, faults: new([]error)}
	for _, element := range elements {
		_ = c.add(element, "")
	}
	c.end()
	linesOf(c.out, &reply{})
}

// FuzzAnswer gives a stream to the readers of all formats, in pieces, and as one body.
func FuzzAnswer(f *testing.F) {
	for _, data := range []string{
		`{"model":"m","choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`,
		`{"choices":[{"message":{"role":"assistant","content":"a"}},{"index":1}]}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[]}]}}`,
		`{"type":"response.output_item.done","item":{"type":"function_call"}}`,
		`{"type":"message","content":[{"type":"text","text":"a"}]}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}` + "\n\ndata: " +
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}` + "\n\ndata: " + `{"type":"message_stop"}`,
		`[{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1e9}}]`,
		`[DONE]`,
	} {
		f.Add(streamOf(data), uint8(3))
		f.Add([]byte(data), uint8(0))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		for format, d := range dialects {
			repeated := func(n int) []byte { return bytes.Repeat(stream, n) }
			cost.Linear(t, "a stream of "+string(format), stream, repeated, func(stream []byte) {
				answer, lines, used := d.answer(), &events{}, usage{}
				read := func(data []byte) {
					if validate(data) == nil {
						answer.read(data)
						used.read(data, &d.tokens)
					}
				}
				for piece := range slices.Chunk(stream, 512) {
					lines.feed(piece, read)
				}
				lines.end(read)
				convert(d, whole(answer))
			})
			var used usage
			one, two := d.answer(), d.answer()
			read := func(a answer) func([]byte) {
				return func(data []byte) {
					if validate(data) == nil {
						a.read(data)
						used.read(data, &d.tokens)
					}
				}
			}
			if size == 0 {
				read(one)(stream)
				read(two)(bytes.Clone(stream))
			} else {
				var whole, parts events
				whole.feed(stream, read(one))
				whole.end(read(one))
				for rest := stream; len(rest) > 0; {
					n := min(int(size), len(rest))
					piece := bytes.Clone(rest[:n])
					parts.feed(piece, read(two))
					clear(piece) // an SDK uses its buffer again
					rest = rest[n:]
				}
				parts.end(read(two))
			}
			elements, again := whole(one), whole(two)
			if len(elements) != len(again) {
				t.Fatalf("%s: %d elements, and in pieces %d", format, len(elements), len(again))
			}
			for i, element := range elements {
				if err := validate(element); err != nil || !bytes.Equal(element, again[i]) {
					t.Fatalf("%s: %v\n%s\n%s", format, err, element, again[i])
				}
			}
			convert(d, elements)
			if input, output := used.total(&d.tokens, true); input < 0 || output < 0 {
				t.Fatalf("%s: %d and %d tokens", format, input, output)
			}
		}
	})
}

// The cost of an event does not depend on what came before it.
func TestEventsAreCheap(t *testing.T) {
	for name, event := range map[Format]string{
		OpenAIChat: `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`,
		Anthropic:  `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`,
		Gemini:     `{"candidates":[{"content":{"role":"model","parts":[{"text":" word"}]},"index":0}],"modelVersion":"m"}`,
	} {
		x := &exchange{dialect: dialects[name], answer: dialects[name].answer()}
		x.feed(streamOf(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`))
		bytes := streamOf(event)
		feed := func() { x.feed(bytes) }
		first := testing.AllocsPerRun(100, feed)
		if later := testing.AllocsPerRun(1000, feed); later > first+2 || later > 30 {
			t.Errorf("%s: %v allocations for an event, and later %v", name, first, later)
		} else {
			t.Logf("%s: %v allocations for an event", name, later)
		}
	}
}

type unheard struct{}

func (unheard) SetConversation(context.Context, []dispatch.Message)      {}
func (unheard) SetEnd(context.Context, iter.Seq2[int, dispatch.Message]) {}
func (unheard) AddProblem(dispatch.Problem)                              {}
func (unheard) UpdateMetadata(change func(*dispatch.Metadata))           { change(&dispatch.Metadata{}) }

// A run keeps 64 MiB of conversations. All that requests and answers say counts.
func TestSizeOfConversations(t *testing.T) {
	const size = 64 << 10
	const user, says = `{"role":"user","content":"a"}`, `"content":"b"`
	text := strings.Repeat("x", size)
	begun := func(before int) *runState {
		return &runState{run: &dispatch.Run{}, transcript: unheard{}, ids: callIDs{used: map[string]bool{}, made: map[string]bool{}}, size: before}
	}
	kept := func(before int, list, answer string) (goesOn bool) {
		s := begun(before)
		x := newExchange(t.Context(), dialects[OpenAIChat], s)
		conversation := prompt{list: json.RawMessage("[" + list + "]")}
		if x.reply = s.begin(x.ctx, x.dialect, conversation); x.reply == nil || answer == "" {
			return x.reply != nil
		}
		x.read(json.RawMessage(`{"choices":[{"message":{"role":"assistant",` + answer + `}}]}`))
		s.finish(x, "")
		return s.begin(x.ctx, x.dialect, conversation) != nil
	}
	if !kept(64<<20, user, "") || kept(64<<20+1, user, "") {
		t.Error("a request is not read after 64 MiB, or is after one more byte")
	}
	for what, tt := range map[string][2]string{
		"a message":       {`{"role":"user","content":"` + text + `"}`, says},
		"a system prompt": {`{"role":"system","content":"` + text + `"},` + user, says},
		"an answer":       {user, `"content":"` + text + `"`},
		"arguments":       {user, `"tool_calls":[{"id":"c","function":{"name":"f","arguments":"` + text + `"}}]`},
		"thinking":        {user, `"reasoning":"` + text + `"`},
	} {
		if kept(64<<20-size, tt[0], tt[1]) || !kept(64<<20-2*size, tt[0], tt[1]) {
			t.Errorf("%s does not count, or more than once", what)
		}
	}
	s := begun(64<<20 - size - size/2)
	long := `{"role":"user","content":"` + text + `"}`
	for i, list := range []string{long, long, long + "," + long, long} { // the second is the first again
		if got := s.begin(t.Context(), dialects[OpenAIChat], prompt{list: json.RawMessage("[" + list + "]")}) != nil; got != (i < 3) {
			t.Errorf("request %d is read: %t", i, got)
		}
	}
}

// The index of a thread agrees with its lines, whatever requests do to the lines.
func TestIndexOfLines(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := &runState{run: &dispatch.Run{}, transcript: unheard{}, ids: callIDs{used: map[string]bool{}, made: map[string]bool{}}}
		var messages []string // of the conversation
		for i := range 30 {
			if random.IntN(4) > 0 {
				messages = append(messages, fmt.Sprintf(`{"role":"user","content":"%d"}`, random.IntN(10)))
			}
			from := random.IntN(len(messages)/2 + 1)
			list := "[" + strings.Join(messages[from:], ",") + "]"
			if random.IntN(3) == 0 {
				list = strings.ReplaceAll(list, `"id":"c`, fmt.Sprintf(`"id":"%d`, i)) // the agent gives calls other ids
			}
			x := newExchange(t.Context(), dialects[OpenAIChat], s)
			x.reply = s.begin(x.ctx, x.dialect, prompt{list: json.RawMessage(list)})
			answer := fmt.Sprintf(`{"role":"assistant","content":"a%d","tool_calls":[{"id":"c%d","function":{"name":"f","arguments":"{}"}}]}`, i, i%7)
			x.read(json.RawMessage(`{"choices":[{"message":` + answer + `}]}`))
			s.finish(x, "")
			if random.IntN(3) > 0 {
				messages = append(messages, answer, fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"x"}`, i%7))
			}
			for _, th := range s.labels[""].threads {
				fresh, n := &thread{lines: th.lines}, i%(len(th.lines)+1)
				if th.keyOf(n) != fresh.keyOf(n) {
					t.Fatalf("seed %d, request %d: the key of the first %d of %d lines is that of others", seed, i, n, len(th.lines))
				}
				want := &thread{lines: th.lines[:th.index.n], index: lineIndex{folded: th.index.folded}}
				if th.index.n > 0 && !reflect.DeepEqual(*want.indexed(), th.index) {
					t.Fatalf("seed %d, request %d: the index is\n%+v\nwant\n%+v", seed, i, th.index, want.index)
				}
			}
		}
	}
}
