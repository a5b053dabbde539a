package httpbody_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/httpbody"
)

func TestResponse(t *testing.T) {
	body := &closer{Reader: strings.NewReader("0123456789")}
	got, err := httpbody.Response(&http.Response{Body: body, ContentLength: -1}, 4)
	if string(got) != "0123" || !errors.Is(err, httpbody.ErrTooLarge) || !body.closed {
		t.Errorf("%q %v, closed: %t", got, err, body.closed)
	}
	body = &closer{Reader: strings.NewReader("0123456789")}
	if got, err = httpbody.Response(&http.Response{Body: body, ContentLength: 10}, 10); string(got) != "0123456789" || err != nil || !body.closed {
		t.Errorf("%q %v, closed: %t", got, err, body.closed)
	}
	if got, err = httpbody.Response(&http.Response{}, 10); got != nil || err != nil {
		t.Errorf("without a body: %q %v", got, err)
	}
}

type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }
