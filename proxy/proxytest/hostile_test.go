package proxytest_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func hostilePlatform(t testing.TB) (*proxytest.Platform, *proxytest.Run) {
	p := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{"a": proxytest.Canned(`{}`)}},
		nil)
	p.Limit(1000)
	return p, p.NewRun()
}

func TestHostileRequests(t *testing.T) {
	hostiletest.Run(t, func(t testing.TB) hostiletest.Subject {
		p, run := hostilePlatform(t)
		return hostiletest.Subject{
			Handler: p, Path: run.Path + "/tools/a", Credential: "Authorization: Bearer " + run.Token,
			Header: []string{"Content-Type: application/json"}, Body: `{"order":"4521"}`, MaxBody: 1000,
			Ran: func() int { return len(run.Log().Calls) },
		}
	}, hostiletest.Sentinels())
}

// The scheme is case-insensitive, as it is for the handler of dispatches.
func TestTheSchemeOfATokenIsCaseInsensitive(t *testing.T) {
	p, run := hostilePlatform(t)
	for _, scheme := range []string{"Bearer", "bearer", "BEARER"} {
		header := http.Header{"Authorization": {scheme + " " + run.Token}}
		if status, body := send(t, p, run.Path+"/tools/a", header, `{}`); status != 200 {
			t.Errorf("%s: %d %s", scheme, status, body)
		}
	}
}

// A 401 does not wait for the body, whether the token is unknown or belongs to a run that is over.
func TestRefusalsDoNotWaitForTheBody(t *testing.T) {
	for _, over := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p, run := hostilePlatform(t)
			token := "unknown"
			if over {
				token = run.Token
				run.End("")
			}
			conn := hostiletest.NewMemoryServer(t, p).Dial(t)
			start := time.Now()
			conn.Write("POST " + run.Path + "/tools/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token +
				"\r\nContent-Length: 13\r\n\r\n")
			if status, _, body := conn.Answer("POST"); status != 401 {
				t.Errorf("over %t: %d %s", over, status, body)
			}
			conn.Ended()
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("over %t: the connection ended after %s", over, took)
			}
		})
	}
}
