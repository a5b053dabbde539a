package cassette

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/internal/modelpath"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runctx"
)

// maxModelBody is the most bytes of a request to a model or of the response that are recorded.
const maxModelBody = 15 << 20

// Model returns a transport for the HTTP client of a model's SDK. It records what agent and model
// send to each other, and replays the responses, whole or event by event, without a key and without a
// network. base sends the requests that are not on the tape. Defaults to http.DefaultTransport.
//
//	client := openai.NewClient(option.WithHTTPClient(&http.Client{
//		Transport: &llm.Transport{Base: tape.Model(nil)},
//	}))
//
// Any API with requests in JSON is recorded, also those that package llm does not read, such as
// embeddings. See the package comment about equal requests. In the mode [Compare] the tape answers,
// since another answer of the model would change all that follows it.
func (c *Cassette) Model(base http.RoundTripper) http.RoundTripper {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.models = true
	return &modelTransport{base, func(context.Context) *Cassette { return c }}
}

// Model is [Cassette.Model] for the requests of all runs that [Recorder.Begin] has named. They must
// have the context that Begin returned. Others are forwarded and not recorded.
func (r *Recorder) Model(base http.RoundTripper) http.RoundTripper {
	return &modelTransport{base, r.named}
}

type modelTransport struct {
	base http.RoundTripper
	tape func(context.Context) *Cassette // of the run; nil if it is not recorded
}

// RoundTrip implements [http.RoundTripper].
func (t *modelTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.base
	if base == nil {
		base = http.DefaultTransport
	}
	c := t.tape(r.Context())
	if c == nil {
		return base.RoundTrip(r)
	}
	body, err := requestBody(r, maxModelBody+1)
	if err == nil {
		err = r.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	redactor := c.hiding(r)
	name := redactor.Redact(modelpath.Named(r.URL.Path))
	if len(body) > maxModelBody {
		c.mu.Lock()
		c.lose("a request to %s has more than %d bytes", name, maxModelBody)
		c.mu.Unlock()
		if !c.set.Mode.forwards() || c.set.Mode == Compare {
			return modelRefusal(name, http.StatusRequestEntityTooLarge, classTooLarge, "the request is too large for a tape").replayed(r), nil
		}
		return base.RoundTrip(unread(r, body))
	}
	if run, ok := dispatch.FromContext(r.Context()); ok {
		c.about(run.Instruction)
	}
	s := c.asks(r, name, body, redactor)
	began := time.Now()
	tapeAfter, answer := c.arrive(s)
	finish := func(answer *reply) {
		s.LatencyMS = milliseconds(time.Since(began))
		c.complete(s, answer, tapeAfter, redactor)
	}
	if answer == nil {
		return c.forwardModel(base, r, body, finish)
	}
	finish(answer)
	if answer.broken == brokenReset || answer.broken == brokenAbandoned {
		return nil, &net.OpError{Op: "read", Net: "tape", Err: syscall.ECONNRESET}
	}
	return answer.replayed(r), nil
}

// asks returns a request to a model without secrets, ready to be compared.
func (c *Cassette) asks(r *http.Request, name string, body []byte, redactor *redact.Redactor) *seen {
	s := &seen{Interaction: Interaction{Kind: kindModel, Name: name, Actor: redactor.Redact(valid(runctx.Actor(r.Context())))}}
	if r.Method != http.MethodPost {
		s.Method = r.Method
	}
	v, raw, plain := redactor.Body(body)
	if s.asked = takeApart(v); s.asked != nil {
		s.Arguments = s.asked.rest
	} else {
		s.Arguments, s.ArgumentsText = raw, plainText(r.Header.Get("Content-Type"), plain)
	}
	if c.set.Mode.reads() { // its identity is as if it were on a tape of its own
		var parts []part
		if s.asked != nil {
			s.parts, parts = newIndex(nil).add(s.asked)
		}
		s.keys = keysOf(parts, c.set.Mask)
		s.id = s.identifyModel(c.set.Mask, s.keys)
	}
	return s
}

// maxPlain is the most bytes of a request in text that are on a tape.
const maxPlain = 1 << 20

// plainText returns a request that is not JSON as it is compared: without the boundary of its parts, which
// clients choose at random. Of one that is long or not a text, such as audio, it is the digest.
func plainText(contentType, body string) string {
	if _, params, err := mime.ParseMediaType(contentType); err == nil && params["boundary"] != "" {
		body = strings.ReplaceAll(body, params["boundary"], "boundary")
	}
	binary := func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' }
	if len(body) > maxPlain || !utf8.ValidString(body) || strings.ContainsFunc(body, binary) {
		return fmt.Sprintf("%d bytes with the SHA-256 %x", len(body), sha256.Sum256([]byte(body)))
	}
	return body
}

// forwardModel sends a request to the model. finish gets the response when the agent has read it.
func (c *Cassette) forwardModel(base http.RoundTripper, r *http.Request, body []byte, finish func(*reply)) (*http.Response, error) {
	resp, err := base.RoundTrip(uncompressed(again(r, body)))
	if err != nil {
		broken := brokenReset
		if r.Context().Err() != nil {
			broken = brokenAbandoned
		}
		finish(&reply{broken: broken, err: err})
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // its body is a connection
		finish(&reply{status: resp.StatusCode, answer: resp})
		return resp, nil
	}
	copied := *resp
	if copied.Body == nil { // a RoundTripper may return none
		copied.Body = http.NoBody
	}
	watched := &watchedBody{
		ReadCloser: copied.Body, cassette: c, finish: finish, answer: reply{status: resp.StatusCode, answer: resp},
	}
	copied.Body, copied.Request = watched, r
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[watched] = true
	return &copied, nil
}

// about notes the instruction of the run for the header of a new tape.
func (c *Cassette) about(instruction string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set.Task.Instruction = cmp.Or(c.set.Task.Instruction, instruction)
}

// unread returns a request whose body begins with what has been read of it.
func unread(r *http.Request, start []byte) *http.Request {
	out := r.Clone(r.Context())
	out.Body = readCloser{io.MultiReader(bytes.NewReader(start), r.Body), r.Body}
	return out
}

// watchedBody is the body of a response that is recorded while the agent reads it.
type watchedBody struct {
	io.ReadCloser
	cassette *Cassette
	answer   reply
	finish   func(*reply)
	once     sync.Once
	mu       sync.Mutex // an SDK may close the body while it reads, and the cassette may end
}

// Read implements [io.Reader].
func (w *watchedBody) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.mu.Lock()
	if w.answer.broken == "" {
		w.answer.body = append(w.answer.body, p[:n]...)
	}
	if len(w.answer.body) > maxModelBody {
		w.answer.body, w.answer.broken = nil, brokenOversize
	}
	if err != nil && err != io.EOF && w.answer.broken == "" {
		w.answer.broken = brokenTruncate
	}
	w.mu.Unlock()
	if err != nil {
		w.end()
	}
	return n, err
}

// Close implements [io.Closer]. Agents close a stream when they have read the last event.
func (w *watchedBody) Close() error {
	err := w.ReadCloser.Close()
	w.end()
	return err
}

func (w *watchedBody) end() {
	w.once.Do(func() {
		w.mu.Lock()
		answer := w.answer
		w.mu.Unlock()
		w.cassette.mu.Lock()
		delete(w.cassette.open, w)
		w.cassette.mu.Unlock()
		w.finish(&answer)
	})
}

// maxKeys is how many keys of models are hidden in all bodies of a run: the last ones.
const maxKeys = 32

// hiding returns a redactor that hides the credentials of a request to a model, too.
func (c *Cassette) hiding(r *http.Request) *redact.Redactor {
	own := modelCredentials(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start()
	known := slices.DeleteFunc(slices.Clone(c.keys.Reveal()), func(key string) bool { return slices.Contains(own, key) })
	known = slices.Concat(known[min(len(known), max(0, len(known)+len(own)-maxKeys)):], own)
	c.keys, c.redactor = redact.Hide(known), withTokens(c.set.redact, slices.Concat(c.tokens.Reveal(), known))
	return c.redactor
}

// modelCredentials returns the values of headers and query parameters with the names of secrets, and
// their parts: what follows a scheme, and the values of a list such as Credential=key/scope, Signature=….
func modelCredentials(r *http.Request) (secrets []string) {
	add := func(name, value string) {
		if !redact.SecretName(name) && !strings.HasSuffix(strings.ToLower(name), "key") && !strings.EqualFold(name, "X-Amz-Signature") {
			return
		}
		secrets = append(secrets, value)
		if strings.EqualFold(name, "Authorization") {
			_, value, _ = strings.Cut(value, " ") // without the scheme
		}
		for word := range strings.FieldsFuncSeq(value, func(c rune) bool { return c == ' ' || c == ',' }) {
			word = strings.TrimRight(word, "=") // of base64
			if _, assigned, ok := strings.Cut(word, "="); ok {
				word, _, _ = strings.Cut(assigned, "/")
			}
			secrets = append(secrets, word)
		}
	}
	for _, named := range []map[string][]string{r.Header, r.URL.Query()} {
		for name, values := range named {
			for _, value := range values {
				add(name, value)
			}
		}
	}
	if password, ok := r.URL.User.Password(); ok {
		secrets = append(secrets, password)
	}
	if _, password, ok := r.BasicAuth(); ok {
		secrets = append(secrets, password)
	}
	return secrets
}

// modelHeaders are the headers of a response by which SDKs choose the error, and whether they repeat the request.
var modelHeaders = []string{"X-Amzn-Errortype", "X-Should-Retry"}

// modelRefusal returns an answer in the words of several providers: SDKs show the message. They do not
// repeat a request with the status 400. name is the end of the path.
func modelRefusal(name string, status int, class, message string) *reply {
	message = "cassette: " + message
	failure := any(map[string]any{"type": class, "message": message})
	switch kind := modelpath.Kind(name); {
	case strings.HasPrefix(kind, "…/api/"): // of Ollama
		failure = message
	case strings.HasPrefix(kind, "…:"): // of Google
		failure = map[string]any{"code": status, "status": class, "message": message}
	}
	r := jsonReply(status, map[string]any{"type": "error", "message": message, "error": failure})
	r.header.Set(modelHeaders[0], "ValidationException")
	return r
}

// replayed returns the answer as a response. Reading it takes no time and needs no goroutine.
func (r *reply) replayed(to *http.Request) *http.Response {
	body := &events{ctx: to.Context(), contentType: r.header.Get("Content-Type"), body: r.body, broken: r.broken != ""}
	return &http.Response{
		Status: strconv.Itoa(r.status) + " " + http.StatusText(r.status), StatusCode: r.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: r.header, Body: body, ContentLength: -1, Request: to,
	}
}

// maxWalk is how many parts of a tape are looked at, in all, to find what requests of a run deviate from.
const maxWalk = 1 << 24

// noModel refuses a request to a model that is not on the tape, and keeps how it deviates: the next
// recorded request of its conversation is the one with the most messages of it.
func (c *Cassette) noModel(s *seen) *reply {
	d := &Deviation{Code: deviationNotOnTape, Run: &s.Interaction, Message: fmt.Sprintf("the request to %s is not on the tape", s.Name)}
	s.deviation = d
	if same := c.playback.queues[s.id.key]; same != nil {
		d.Tape, d.Message = same.calls[0].Interaction, fmt.Sprintf("the request to %s was made more often than on the tape", s.Name)
	} else if near := c.playback.nextModel(s); near != nil {
		d.Code, d.Tape = deviationChanged, near.Interaction
		near.shown = true
		d.Diff = c.playback.modelDiff(c.set, near, s)
		d.Message = fmt.Sprintf("the request to the model differs from the tape at %s", places(d.Diff))
	}
	s.asked, s.keys = nil, nil // the report does not need them
	return modelRefusal(s.Name, http.StatusBadRequest, classNoMatch, d.Message)
}

// nextModel returns the request on the tape that has no answer yet and is most like s; nil if there
// is none, or if too many have been looked at.
func (d *playback) nextModel(s *seen) (best *taped) {
	if d.walked += len(d.tape.parts) + len(d.alike[s.target()]); d.walked > maxWalk {
		return nil
	}
	have := map[digest]bool{}
	for _, alone := range s.keys.alone {
		have[alone] = true
	}
	score := make([]int, len(d.tape.parts)+1) // of each list up to this part
	for _, p := range d.tape.parts {
		if score[p.Number] = score[p.After]; have[d.keys.alone[p.Number-1]] {
			score[p.Number]++
		}
	}
	most := -1
	for _, c := range d.alike[s.target()] {
		all := 0
		for _, n := range c.parts.Lists {
			all += score[n]
		}
		if !c.taken && !c.shown && all > most {
			best, most = c, all
		}
	}
	return best
}

// modelDiff lists where a request to a model differs from one on the tape.
func (d *playback) modelDiff(set *settings, c *taped, s *seen) (list []Difference) {
	if mask(c.Name, set.Mask) != mask(s.Name, set.Mask) {
		list = append(list, Difference{Pointer: "the path", Tape: rawjson.Quote(c.Name), Run: rawjson.Quote(s.Name)})
	}
	if s.asked == nil || c.Arguments == nil {
		return append(list, diff(c.argumentsIn(identity{compared: c.Arguments}), s.argumentsIn(identity{compared: s.Arguments}))...)
	}
	tape := together(d.tape.parts, c.Arguments, &c.parts)
	plain := func(a *asked) []byte {
		bare := asked{rest: a.rest, values: a.values}
		v := rawjson.Parse(bare.body())
		maskAll(v, set.Mask)
		return v.Append(nil)
	}
	list = append(list, diff(plain(tape), plain(s.asked))...)
	names := slices.AppendSeq(slices.Collect(maps.Keys(tape.lists)), maps.Keys(s.asked.lists))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		n := norm{masks: set.Mask}
		before, after := n.list(tape.lists[name]), n.list(s.asked.lists[name])
		begin := 0
		for begin < min(len(before), len(after)) && bytes.Equal(before[begin], after[begin]) {
			begin++
		}
		before, after = before[begin:], after[begin:]
		for len(before) > 0 && len(after) > 0 && bytes.Equal(before[len(before)-1], after[len(after)-1]) {
			before, after = before[:len(before)-1], after[:len(after)-1]
		}
		for i := range max(len(before), len(after)) {
			for _, one := range diff(at(before, i), at(after, i)) {
				one.Pointer = rawjson.Token(name) + "/" + strconv.Itoa(begin+i) + one.Pointer
				list = append(list, one)
			}
		}
	}
	return list
}

// at returns an element of a list, or nil if there is none.
func at(list []json.RawMessage, i int) json.RawMessage {
	if i < len(list) {
		return list[i]
	}
	return nil
}
