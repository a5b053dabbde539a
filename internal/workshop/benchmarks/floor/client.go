package floor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Client is the client that one would write by hand: net/http and encoding/json, with a deadline,
// and without pacing, retry, limits, strictness or typed errors.
type Client struct {
	HTTP     *http.Client
	ProxyURL string
	Token    string
}

// Call makes a tool call and returns its unwrapped result.
func (c *Client) Call(ctx context.Context, tool string, args any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, 120*time.Second)
	defer cancel()
	body, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		strings.TrimRight(c.ProxyURL, "/")+"/tools/"+tool, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return Response(answer)
}

// Response returns the result in the body of the proxy's response.
func Response(body []byte) (json.RawMessage, error) {
	var envelope struct {
		Response json.RawMessage `json:"response"`
	}
	err := json.Unmarshal(body, &envelope)
	return envelope.Response, err
}
