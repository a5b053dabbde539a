package proxytest

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

// sendDamaged sends an answer with the damage of a failure rule. It does not return if the damage
// ends the connection.
func (v *runRequest) sendDamaged(answer any) {
	v.record(v.damage)
	body := marshal(answer)
	if v.damage == breakOversize { // white space keeps it valid JSON
		body = append(body, bytes.Repeat([]byte{' '}, v.platform.maxBytes+httpcall.EnvelopeBytes)...)
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if v.damage == breakTruncate {
		body = body[:len(body)/2]
	}
	_, _ = v.w.Write(body)
	if v.damage == breakTruncate {
		_ = http.NewResponseController(v.w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// abandon ends a request whose client has gone.
func (v *runRequest) abandon() {
	v.record("the agent cancelled the call")
	panic(http.ErrAbortHandler)
}

// record records a request that has no whole response.
func (v *runRequest) record(reason string) {
	v.call.Reason = reason
	v.call.LatencyMS = float64(time.Since(v.call.At).Microseconds()) / 1000
	v.run.refuse(v.call, v.key, "")
	v.platform.showRefused(v.ctx, v.call)
}

// reset closes a network connection with an RST. Without a network it aborts the handler.
func (v *runRequest) reset() {
	v.record(breakReset)
	if hijacker, ok := v.w.(http.Hijacker); ok {
		if conn, _, err := hijacker.Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}
