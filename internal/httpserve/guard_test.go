package httpserve_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/httpserve"
)

func TestCutBearer(t *testing.T) {
	for value, want := range map[string]string{
		"Bearer x": "x", "bearer x": "x", "BEARER   x y": "x y", "Bearer ": "",
		"Bearer": "-", "Bearerx": "-", "Basic x": "-", "": "-", "x": "-",
	} {
		token, ok := httpserve.CutBearer(value)
		if ok != (want != "-") || ok && token != want || !ok && token != value {
			t.Errorf("CutBearer(%q) = %q, %t", value, token, ok)
		}
	}
}

func TestPresented(t *testing.T) {
	for _, tt := range []struct {
		bearer, other []string
		tokens        []string
		foreign       bool
		single        string
	}{
		{nil, nil, nil, false, ""},
		{[]string{"bearer x"}, nil, []string{"x"}, false, "x"},
		{nil, []string{"x"}, []string{"x"}, false, "x"},
		{[]string{"Bearer x"}, []string{"x"}, []string{"x", "x"}, false, "x"},
		{[]string{"Bearer x"}, []string{"y"}, []string{"x", "y"}, false, ""},
		{[]string{"Bearer x", "Bearer y"}, nil, []string{"x", "y"}, false, ""},
		{[]string{"Basic x"}, []string{"y"}, []string{"y"}, true, "y"},
		{[]string{"Bearer "}, []string{"y"}, []string{"", "y"}, false, ""},
	} {
		tokens, foreign := httpserve.Tokens(http.Header{"Authorization": tt.bearer, "X-Other": tt.other}, "X-Other")
		single, ok := httpserve.OneToken(tokens)
		if !slices.Equal(tokens, tt.tokens) || foreign != tt.foreign || single != tt.single || ok != (tt.single != "") {
			t.Errorf("%q, %q: %q, foreign %t, single %q %t", tt.bearer, tt.other, tokens, foreign, single, ok)
		}
	}
}

func TestGuard(t *testing.T) {
	const secret = "hunter2"
	for _, tt := range []struct {
		name     string
		header   string
		optional bool
		values   []string
		want     string // a part of the reason, "" if admitted
	}{
		{"bearer", "Authorization", false, []string{"bearer hunter2"}, ""},
		{"no scheme", "Authorization", true, []string{"hunter2"}, `does not begin with "Bearer "`},
		{"another scheme", "Authorization", false, []string{"Basic hunter2"}, `does not begin with "Bearer "`},
		{"none", "Authorization", false, nil, "is missing"},
		{"twice", "Authorization", false, []string{"Bearer hunter2", "Bearer hunter2"}, "given 2 times"},
		{"wrong", "Authorization", false, []string{"Bearer hunter22"}, "is not accepted"},
		{"empty", "Authorization", false, []string{"Bearer "}, "has no secret"},
		{"own header", "X-Key", false, []string{"hunter2"}, ""},
		{"own header, with a scheme that is not allowed", "X-Key", false, []string{"Bearer hunter2"}, "is not accepted"},
		{"own header, with a scheme that is allowed", "X-Key", true, []string{"Bearer hunter2"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := httpserve.Guard{Header: tt.header, Secrets: httpserve.NewSecrets([]string{secret}, nil), OptionalBearer: tt.optional}
			r := httptest.NewRequest("POST", "/", nil)
			r.Header[tt.header] = tt.values
			reason := g.Check(r)
			if (reason == "") != (tt.want == "") || !strings.Contains(reason, tt.want) || strings.Contains(reason, secret) {
				t.Errorf("reason %q, want %q", reason, tt.want)
			}
		})
	}
}

func TestValidHeaderName(t *testing.T) {
	for name, want := range map[string]bool{"X-Key": true, "a!#$%&'*+-.^_`|~9": true, "": false, "X Key": false, "X:": false, "é": false} {
		if httpserve.ValidHeaderName(name) != want {
			t.Errorf("ValidHeaderName(%q) = %t", name, !want)
		}
	}
}
