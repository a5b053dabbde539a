package proxytest

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

// sendDamaged sends an answer as a failure rule says. It does not return if that ends the connection.
func (v *visit) sendDamaged(answer any) {
	v.record(string(v.damage))
	body := marshal(answer)
	if v.damage == Oversize { // white space keeps it good JSON
		body = append(body, bytes.Repeat([]byte{' '}, v.platform.maxBytes+httpcall.EnvelopeBytes)...)
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if v.damage == Truncate {
		body = body[:len(body)/2]
	}
	_, _ = v.w.Write(body)
	if v.damage == Truncate {
		_ = http.NewResponseController(v.w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// abandon ends a request whose sender has gone.
func (v *visit) abandon() {
	v.record("the agent gave the call up")
	panic(http.ErrAbortHandler)
}

// record keeps a request that gets no whole answer.
func (v *visit) record(reason string) {
	v.call.Reason = reason
	v.call.LatencyMS = float64(time.Since(v.call.At).Microseconds()) / 1000
	v.run.refuse(v.call, v.key, "")
	v.platform.showRefused(v.ctx, v.call)
}

// reset closes a network connection with an RST; elsewhere the handler's end without an answer has to do.
func (v *visit) reset() {
	v.record(string(Reset))
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
