package dispatch_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func echo(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	return &dispatch.Response{FinalResponse: "You said: " + run.Instruction}, nil
}

// show sends a dispatch to a handler and prints the answer.
func show(h http.Handler, path, token, body string) {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Pipelines-Run-Token", "run-token")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
}

// An agent that calls a tool, behind its handler. Package dispatchtest sends what the platform would send.
func Example() {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		type Order struct{ Status string }
		order, err := proxy.Call[Order](ctx, run.Proxy, "get_order", map[string]string{"order_id": "4521"})
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "Order #4521 is " + order.Status + "."}, nil
	}
	handler, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{"agent-token"}})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux() // for an http.Server
	mux.Handle("POST /", handler)

	result, err := dispatchtest.Dispatch(context.Background(),
		dispatchtest.Target{Handler: mux, AuthValue: "Bearer agent-token"},
		dispatchtest.Task{Instruction: "Where is order #4521?", World: proxytest.World{
			Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)},
		}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Dispatch.Status, result.FinalResponse)
	// Output: 200 Order #4521 is shipped.
}

func ExampleNew() {
	handler, err := dispatch.New(echo, &dispatch.Options{Tokens: []string{"agent-token"}})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /dispatch", handler)

	show(mux, "/dispatch", "agent-token", `{"ping":true}`)
	show(mux, "/dispatch", "agent-token", `{"input":{"user_instruction":"hello"},"odyssey_proxy_url":"https://api.example.com/runs/abc"}`)
	show(mux, "/dispatch", "agent-token", `{"input":{"user_instruction":"hello"}}`)
	show(mux, "/dispatch", "wrong", `{"ping":true}`)
	// Output:
	// 200 {"ok":true}
	// 200 {"final_response":"You said: hello"}
	// 400 {"error":"invalid_envelope","message":"no proxy URL: neither the member odyssey_proxy_url nor the header X-Pipelines-Odyssey-Proxy-Url is set"}
	// 401 {"error":"unauthorized","message":"the secret in the header Authorization is not accepted"}
}

// A middleware authenticates in another way: here by a signature of the header X-Request-Id.
func ExampleHandler_middleware() {
	handler, err := dispatch.New(echo, &dispatch.Options{InsecureNoAuth: true, MaxBodyBytes: 16 << 20})
	if err != nil {
		log.Fatal(err)
	}
	sign := func(id string) string {
		mac := hmac.New(sha256.New, []byte("shared secret"))
		mac.Write([]byte(id))
		return hex.EncodeToString(mac.Sum(nil))
	}
	signed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hmac.Equal([]byte(r.Header.Get("X-Signature")), []byte(sign(r.Header.Get("X-Request-Id")))) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	for _, signature := range []string{sign("request-1"), "wrong"} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"ping":true}`))
		r.Header.Set("X-Request-Id", "request-1")
		r.Header.Set("X-Signature", signature)
		w := httptest.NewRecorder()
		signed.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 {"ok":true}
	// 401
}

// Wrong: middleware that reads the body and does not put it back leaves nothing for the handler.
func ExampleHandler_wrongMiddleware() {
	handler, err := dispatch.New(echo, &dispatch.Options{Tokens: []string{"agent-token"}})
	if err != nil {
		log.Fatal(err)
	}
	logsBodies := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body) // wrong; and a body may hold what must not be logged
			next.ServeHTTP(w, r)
		})
	}
	keepsBody := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		})
	}
	show(logsBodies(handler), "/", "agent-token", `{"ping":true}`)
	show(keepsBody(handler), "/", "agent-token", `{"ping":true}`)
	// Output:
	// 400 {"error":"invalid_json","message":"invalid JSON at byte 0: ends before the JSON value is complete"}
	// 200 {"ok":true}
}

// Metrics of runs and of rejected requests.
func ExampleObserver() {
	observer := &dispatch.Observer{
		RunEnd: func(_ context.Context, end dispatch.RunEnd) {
			fmt.Printf("runs{code=%q, timed_out=%t} %d tool calls\n", toolwire.CodeOf(end.Err), end.TimedOut, end.Calls)
		},
		Refused: func(_ context.Context, refusal dispatch.Refusal) {
			fmt.Printf("refusals{code=%q, status=%d}\n", toolwire.CodeOf(refusal.Err), refusal.Status)
		},
	}
	handler, err := dispatch.New(echo, &dispatch.Options{Tokens: []string{"agent-token"}, Observer: observer})
	if err != nil {
		log.Fatal(err)
	}
	for _, token := range []string{"agent-token", "another"} {
		show(handler, "/", token,
			`{"run_id":7,"input":{"user_instruction":"Hello."},"odyssey_proxy_url":"https://proxy.example.com"}`)
	}
	// Output:
	// runs{code="", timed_out=false} 0 tool calls
	// 200 {"final_response":"You said: Hello."}
	// refusals{code="unauthorized", status=401}
	// 401 {"error":"unauthorized","message":"the secret in the header Authorization is not accepted"}
}

func ExampleHandler_Drain() {
	handler, err := dispatch.New(echo, &dispatch.Options{Tokens: []string{"agent-token"}})
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: handler}

	// On SIGTERM: let the runs end, then the server.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	fmt.Println(handler.Drain(ctx), server.Shutdown(ctx))
	// Output: <nil> <nil>
}

func ExampleCheckResponse() {
	verdict := dispatch.CheckResponse([]byte(`{"final_response":"Done.","messages":[{"role":"function","content":"x"}]}`))
	fmt.Println(verdict.OK(), verdict.Gradeable)
	for _, p := range verdict.Problems {
		fmt.Println(p)
	}
	// Output:
	// true false
	// /messages/0/role must be system, user, assistant or tool [messages_malformed]
}
