package restclient_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/schema"
)

const base = "https://api.example.com"

// answer is a transport that answers every request, and keeps the last one.
type answer struct {
	status int
	body   string
	last   *http.Request
}

func (a *answer) RoundTrip(r *http.Request) (*http.Response, error) {
	a.last = r
	return &http.Response{StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: -1, Request: r}, nil
}

func register(t *testing.T, status int, body string) *toolwire.Error {
	t.Helper()
	c, err := registration.NewClient(base, "key", &registration.Options{Transport: &answer{status: status, body: body}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Create(t.Context(), &registration.Registration{Name: "a", EndpointURL: "https://agent.example.com/",
		Tools: []schema.Tool{{Name: "get_order", InputSchema: json.RawMessage(`{"type":"object"}`)}}})
	e, _ := errors.AsType[*toolwire.Error](err)
	return e
}

// All clients accept the same keys, and send them unchanged.
func TestKeys(t *testing.T) {
	for key, ok := range map[string]bool{
		"k": true, "!~": true, strings.Repeat("k", 4096): true,
		"": false, "a b": false, " a": false, "a\tb": false, "a\n": false, "a\x7fb": false, "\x00": false, "é": false, strings.Repeat("k", 4097): false,
	} {
		a := &answer{status: 404}
		r, err := registration.NewClient(base, key, &registration.Options{Transport: a})
		c, catalogErr := catalog.NewClient(base, key, &catalog.ClientOptions{Transport: a})
		box, boxErr := toolbox.NewClient(key, &toolbox.ClientOptions{BaseURL: base, Transport: a})
		for name, err := range map[string]error{"registration": err, "catalog": catalogErr, "toolbox": boxErr} {
			if (err == nil) != ok || err != nil && (len(key) > 3 && strings.Contains(err.Error(), key) ||
				!strings.Contains(err.Error(), "must be visible ASCII") && !strings.Contains(err.Error(), "at most 4096 bytes")) {
				t.Errorf("%s: the key %.9q: %v", name, key, err)
			}
		}
		if !ok {
			continue
		}
		_, _ = r.Create(t.Context(), &registration.Registration{Name: "a", EndpointURL: "https://agent.example.com/",
			Tools: []schema.Tool{{Name: "get_order", InputSchema: json.RawMessage(`{"type":"object"}`)}}})
		sent := []string{a.last.Header.Get("Authorization")}
		_, _ = c.Get(t.Context(), "11111111-2222-4333-8444-555555555555")
		sent = append(sent, "Bearer "+a.last.Header.Get("X-Api-Key"))
		_, _ = box.Tools(t.Context(), "")
		sent = append(sent, a.last.Header.Get("Authorization"))
		for i, got := range sent {
			if got != "Bearer "+key {
				t.Errorf("client %d sends %.20q for %.9q", i, got, key)
			}
		}
	}
}

// The message of a failure is not repeated by its cause.
func TestCausesOfBadResponses(t *testing.T) {
	c, err := catalog.NewClient(base, "key", &catalog.ClientOptions{Transport: &answer{status: 200, body: "[]"}, MaxAttempts: 1})
	box, boxErr := toolbox.NewClient("key", &toolbox.ClientOptions{Transport: &answer{status: 200, body: strings.Repeat(" ", 5<<20)}})
	if err := errors.Join(err, boxErr); err != nil {
		t.Fatal(err)
	}
	_, err = c.Get(t.Context(), "11111111-2222-4333-8444-555555555555")
	if toolwire.CodeOf(err) != toolwire.CodeBadResponse || errors.Unwrap(err) != nil || strings.Count(err.Error(), "the response cannot be used") != 1 {
		t.Errorf("catalog: %v, cause %v", err, errors.Unwrap(err))
	}
	_, err = box.Tools(t.Context(), "")
	if toolwire.CodeOf(err) != toolwire.CodeResponseTooLarge || errors.Unwrap(err) != nil || strings.Count(err.Error(), "bytes") != 1 {
		t.Errorf("toolbox: %v, cause %v", err, errors.Unwrap(err))
	}
	e := register(t, 200, "[]")
	if e.Code != "bad_response" || e.Err == nil || strings.Count(e.Error(), e.Err.Error()) != 1 {
		t.Errorf("registration: %v, cause %v", e, e.Err)
	}
}

// Beside problems the error has the message about the whole request as Detail. Its text is theirs.
func TestDetailBesideProblems(t *testing.T) {
	e := register(t, 422, `{"message":"two mistakes","detail":[{"loc":["body","name"],"msg":"too short"}]}`)
	if len(e.Problems) != 1 || e.Response.Detail != "two mistakes" || strings.Contains(e.Error(), "two mistakes") || !strings.Contains(e.Error(), "/name too short") {
		t.Errorf("%v\n%+v, detail %q", e, e.Problems, e.Response.Detail)
	}
	e = register(t, 422, `{"detail":[{"loc":["body","name"],"msg":"too short"}]}`)
	if len(e.Problems) != 1 || e.Response.Detail != "" {
		t.Errorf("%+v, detail %q", e.Problems, e.Response.Detail)
	}
	e = register(t, 409, `{"message":"the name is taken","detail":[{"loc":["body","name"],"msg":"taken"}]}`)
	if len(e.Problems) != 0 || e.Response.Detail != "the name is taken" || !strings.Contains(e.Error(), `the platform says "the name is taken"`) {
		t.Errorf("%v\n%+v, detail %q", e, e.Problems, e.Response.Detail)
	}
}
