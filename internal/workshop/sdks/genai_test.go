package sdks

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"google.golang.org/genai"
)

var genaiSDK = sdk{
	name:     "genai",
	talk:     newGenai,
	finish:   map[string]string{"stop": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"},
	thinks:   true,
	mute:     true, // with this backend it has no FinishMessage
	attempts: 1,
}

type genaiTalk struct {
	client   *genai.Client
	config   *genai.GenerateContentConfig
	contents []*genai.Content
	stream   bool
}

func newGenai(t *testing.T, url string, client *http.Client, stream bool) talk {
	t.Helper()
	api, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &genaiTalk{client: api, stream: stream, config: &genai.GenerateContentConfig{SystemInstruction: genai.NewContentFromText(system, genai.RoleUser)}}
	c.config.Tools = []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "get_order"}, {Name: "refund_order"}}}}
	return c
}

func (c *genaiTalk) user(text string) {
	c.contents = append(c.contents, genai.NewContentFromText(text, genai.RoleUser))
}

func (c *genaiTalk) result(call call, text string) {
	part := &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: call.id, Name: call.name, Response: map[string]any{"output": json.RawMessage(text)}}}
	last := c.contents[len(c.contents)-1]
	if last.Role == genai.RoleUser {
		last.Parts = append(last.Parts, part)
		return
	}
	c.contents = append(c.contents, genai.NewContentFromParts([]*genai.Part{part}, genai.RoleUser))
}

func (c *genaiTalk) ask(ctx context.Context) (r reply, err error) {
	said := &genai.Content{Role: genai.RoleModel}
	add := func(got *genai.GenerateContentResponse) {
		r.model = got.ModelVersion
		if u := got.UsageMetadata; u != nil {
			r.input, r.output = int64(u.PromptTokenCount), int64(u.CandidatesTokenCount+u.ThoughtsTokenCount)
		}
		for _, candidate := range got.Candidates {
			r.finish, r.refusal = string(candidate.FinishReason), candidate.FinishMessage
			if candidate.Content == nil {
				continue
			}
			for _, p := range candidate.Content.Parts {
				said.Parts = append(said.Parts, p)
				switch {
				case p.FunctionCall != nil:
					arguments, err := json.Marshal(p.FunctionCall.Args)
					if err != nil {
						panic(err)
					}
					if p.FunctionCall.Args == nil {
						arguments = []byte("{}")
					}
					r.calls = append(r.calls, call{p.FunctionCall.ID, p.FunctionCall.Name, string(arguments)})
				case p.Thought:
					r.thinking += p.Text
				default:
					r.text += p.Text
				}
			}
		}
	}
	if c.stream {
		for got, err := range c.client.Models.GenerateContentStream(ctx, "fake-1", c.contents, c.config) {
			if err != nil {
				return r, err
			}
			add(got)
		}
	} else {
		got, err := c.client.Models.GenerateContent(ctx, "fake-1", c.contents, c.config)
		if err != nil {
			return r, err
		}
		add(got)
	}
	c.contents = append(c.contents, said)
	return r, nil
}
