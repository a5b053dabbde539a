package llm_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
)

// What a run sends to its models and Transport does not read is one problem, with the kinds of the paths
// but without what may be an id or a secret.
func TestTraffic(t *testing.T) {
	const read = "/v1/chat/completions"
	for _, tt := range []struct {
		paths []string
		want  string // the kinds; "" for no problem
	}{
		{[]string{"/v1beta/interactions"}, "…/interactions"},
		{[]string{"/model/us.amazon.nova-micro-v1:0/converse", "/model/arn:aws:bedrock:eu-west-1:123456789012:inference-profile%2Fx/invoke-with-response-stream", "/model/m/invoke"},
			"…/converse, …/invoke-with-response-stream, …/invoke"},
		{[]string{"/api/generate", "/api/generate"}, "…/api/generate"},
		{[]string{read, "/v1/responses/compact"}, "…/responses/compact"},
		{[]string{read, "/v1/completions", "/v1/threads/thread_abc/runs"}, "…/completions, …/runs"},
		{[]string{"/v1/projects/p/locations/l/publishers/mistralai/models/m:rawPredict"}, "…:rawPredict"},
		{[]string{"/chat/4f9c8a6e51d2"}, "…/chat"},
		{[]string{"/services/T0001/Zm9vYmFyYmF6cXV4cXV1eGNvcmdlZ3JhdWx0"}, "…/services"},
		{[]string{"/"}, "…/"},
		{[]string{read, "/anything"}, ""},
		{[]string{read, "/chat/messages"}, ""},
		{[]string{read, "/telemetry/runs", "/v1/runs", "/v1/conversations"}, ""},
		{[]string{"/v1/conversations"}, "…/conversations"},
		{[]string{read, "/v1/threads/runs"}, "…/runs"},
		{[]string{read, "/model/amazon.titan-embed-text-v2:0/invoke", "/model/arn:aws:bedrock:eu-west-1:1:inference-profile%2Fcohere.embed-v4:0/invoke", "/model/amazon.rerank-v1:0/invoke",
			"/v1/projects/p/locations/l/publishers/google/models/text-embedding-005:predict", "/v1/projects/p/locations/l/publishers/google/models/multimodalembedding@001:predict"}, ""},
		{[]string{"/v1/embeddings", "/v1beta/models/m:embedContent", "/v1beta/models/m:batchEmbedContents", "/api/embed", "/v1/messages/count_tokens", "/v1beta/models/m:countTokens",
			"/v1/responses/input_tokens", "/v1/moderations", "/v1/files", "/v1/messages/batches", "/oauth2/token", "/v1beta/models/m:batchGenerateContent"}, ""},
		{nil, ""},
	} {
		transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			if r.URL.Path == read {
				return response(says("yes")), nil
			}
			return response(`{"output":{}}`), nil
		})}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			for _, path := range tt.paths {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example.com"+path, strings.NewReader(`{"prompt":"hi"}`))
				if err != nil {
					return err
				}
				if path == read {
					r.Body = http.NoBody
					if _, err := send(ctx, &llm.Transport{Base: model(says("yes"))}, path, chat("user a")); err != nil {
						return err
					}
					continue
				}
				r.Header.Set("Content-Type", "application/json; charset=utf-8")
				resp, err := transport.RoundTrip(r)
				if err != nil {
					return err
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			return nil
		})
		switch {
		case tt.want == "" && len(result.Problems) > 0:
			t.Errorf("%s: %v", tt.paths, result.Problems)
		case tt.want != "" && (len(result.Problems) != 1 || !strings.HasPrefix(result.Problems[0].Message, "requests to "+tt.want+" are not read")):
			t.Errorf("%s: %v, want %s", tt.paths, result.Problems, tt.want)
		}
	}
}

// Requests that fail, that are not JSON or that get nothing back say nothing about a model.
func TestTrafficOfOthers(t *testing.T) {
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		resp := response(`{}`)
		if strings.HasSuffix(r.URL.Path, "/fails") {
			resp.StatusCode = 404
		}
		return resp, nil
	})}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		for path, mediaType := range map[string]string{"/fails": "application/json", "/form": "application/x-www-form-urlencoded", "/none": ""} {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example.com"+path, strings.NewReader("a=b"))
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", mediaType)
			if _, err := transport.RoundTrip(r); err != nil {
				return err
			}
		}
		return nil
	})
	if len(result.Problems) > 0 {
		t.Error(result.Problems)
	}
}
