package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// A fault is what happens to one request.
type fault int

const (
	none fault = iota

	// Before the request is carried out.
	resetBefore
	switchBefore
	rateLimited
	rateLimitedLonger
	transient
	unavailable
	echoed // an error that repeats the headers of the request
	unauthorized
	over
	redirected

	// After it was carried out.
	resetAfter
	switchAfter
	truncated
	garbage
	oversize
	failedAfter
	stalled

	// Only slower.
	slow
	trickled

	faults // how many
)

// someFaults returns what happens to the attempts of one call.
func someFaults(random *rand.Rand) (list []fault) {
	n := 0
	switch p := random.IntN(100); {
	case p < 45:
		n = 1
	case p < 53:
		n = 2
	case p < 55:
		n = 4
	}
	for range n {
		f := fault(1 + random.IntN(int(faults)-1))
		if (f == unauthorized || f == over) && random.IntN(4) > 0 {
			f = slow // since these end the run
		}
		list = append(list, f)
	}
	return list
}

// A victim is a request that a fault happens to.
type victim struct {
	w       http.ResponseWriter
	r       *http.Request
	next    http.Handler
	onStall func() // tells the caller to give up
}

// suffer answers the request with the fault.
func (v *victim) suffer(f fault) {
	switch f {
	case none:
		v.next.ServeHTTP(v.w, v.r)
	case resetBefore:
		v.reset()
	case switchBefore:
		v.switching()
	case rateLimited:
		v.refuse(http.StatusTooManyRequests, "rate_limited")
	case rateLimitedLonger:
		v.w.Header().Set("Retry-After", "1")
		v.refuse(http.StatusTooManyRequests, "rate_limited")
	case transient:
		v.refuse(http.StatusServiceUnavailable, "lock_contention")
	case unavailable:
		v.refuse(http.StatusServiceUnavailable, "maintenance")
	case echoed:
		var headers strings.Builder
		_ = v.r.Header.Write(&headers)
		v.w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(v.w, "no answer to this request: %s%s", headers.String(), v.r.URL)
	case unauthorized:
		v.refuse(http.StatusUnauthorized, "gateway")
	case over:
		v.refuse(http.StatusUnauthorized, "run_token_expired")
	case redirected:
		v.w.Header().Set("Location", "http://127.0.0.1:1/?token="+v.r.Header.Get("Authorization"))
		v.w.WriteHeader(http.StatusTemporaryRedirect)
	case slow:
		time.Sleep(5 * time.Millisecond)
		v.next.ServeHTTP(v.w, v.r)
	default:
		v.after(f)
	}
}

// after carries the request out and then spoils the answer.
func (v *victim) after(f fault) {
	answer := httptest.NewRecorder()
	v.next.ServeHTTP(answer, v.r)
	body := answer.Body.Bytes()
	switch f {
	case resetAfter:
		v.reset()
	case switchAfter:
		v.switching()
	case truncated:
		v.send(answer.Code, len(body), body[:len(body)/2])
		panic(http.ErrAbortHandler)
	case garbage:
		v.send(http.StatusOK, 7, []byte(`{"resp"`))
	case oversize:
		body = append(body, bytes.Repeat([]byte{' '}, 2<<20)...)
		v.send(answer.Code, len(body), body)
	case failedAfter:
		v.refuse(http.StatusBadGateway, "upstream")
	case stalled:
		v.onStall()
		<-v.r.Context().Done()
		panic(http.ErrAbortHandler)
	case trickled:
		for i, b := range body {
			v.w.Header().Set("Content-Type", "application/json")
			_, _ = v.w.Write([]byte{b})
			if i%16 == 0 {
				_ = http.NewResponseController(v.w).Flush()
			}
		}
	}
}

// send writes an answer of which more bytes may be announced than there are.
func (v *victim) send(status, length int, body []byte) {
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Content-Length", fmt.Sprint(length))
	v.w.WriteHeader(status)
	_, _ = v.w.Write(body)
	_ = http.NewResponseController(v.w).Flush()
}

// refuse answers with an error that repeats the token.
func (v *victim) refuse(status int, class string) {
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(status)
	_, _ = fmt.Fprintf(v.w, `{"detail":{"error_class":%q,"message":%q}}`, class,
		"refused with the header "+v.r.Header.Get("Authorization"))
}

// reset ends the connection with a reset, or the stream of HTTP/2.
func (v *victim) reset() {
	if conn, _, err := http.NewResponseController(v.w).Hijack(); err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
		return
	}
	panic(http.ErrAbortHandler)
}

// switching answers with 101, or with 409 where HTTP/2 has no 101.
func (v *victim) switching() {
	if conn, out, err := http.NewResponseController(v.w).Hijack(); err == nil {
		_, _ = out.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: soak\r\n\r\n")
		_ = out.Flush()
		_ = conn.Close()
		return
	}
	v.refuse(http.StatusConflict, "switching")
}
