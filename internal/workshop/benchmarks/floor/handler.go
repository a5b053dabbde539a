// Package floor has what benchmarks compare the library with: the handler and the client that one
// would write by hand with net/http and encoding/json.
package floor

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// A Run is what an agent on the floor receives.
type Run struct {
	Instruction string
	Input       json.RawMessage
	ProxyURL    string
	Token       string
}

// Handler returns the handler that one would write by hand: the documented steps, and none of the
// limits, deadlines, strictness, panic containment or contract checks. token is the bearer token of
// the platform.
func Handler(token string, agent func(ctx context.Context, run Run) (final string)) http.Handler {
	expected := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), expected) != 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if bytes.Equal(bytes.TrimSpace(body), []byte(`{"ping":true}`)) {
			_, _ = io.WriteString(w, `{"ok":true}`)
			return
		}
		run, err := readRun(body, r.Header)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer, err := json.Marshal(map[string]string{"final_response": agent(r.Context(), run)})
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(answer)
	})
}

// readRun reads the envelope of a dispatch.
func readRun(body []byte, header http.Header) (Run, error) {
	var envelope struct {
		TaskID   int64  `json:"task_id"`
		RunID    int64  `json:"run_id"`
		AgentID  int64  `json:"agent_id"`
		ProxyURL string `json:"odyssey_proxy_url"`
		JTI      string `json:"run_token_jti"`
		Input    struct {
			Instruction string          `json:"user_instruction"`
			Input       json.RawMessage `json:"input"`
		} `json:"input"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return Run{}, err
	}
	if envelope.ProxyURL == "" {
		envelope.ProxyURL = header.Get("X-Pipelines-Odyssey-Proxy-Url")
	}
	run := Run{envelope.Input.Instruction, envelope.Input.Input, envelope.ProxyURL, header.Get("X-Pipelines-Run-Token")}
	if run.ProxyURL == "" || run.Token == "" {
		return Run{}, errors.New("no proxy URL or run token")
	}
	return run, nil
}
