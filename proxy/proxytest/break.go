package proxytest

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/proxy"
)

// breakOff damages the answer as a failure rule says. It does not return for ways that end the connection.
func (v *visit) breakOff(way Break) {
	v.record(string(way))
	switch way {
	case Reset:
		v.reset()
	case Truncate:
		body := marshal(envelope{Tool: v.call.Tool, Response: marshal("this answer is cut off here"), Source: proxy.SourceOdyssey})
		v.w.Header().Set("Content-Type", "application/json")
		v.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = v.w.Write(body[:len(body)/2])
		_ = http.NewResponseController(v.w).Flush()
		panic(http.ErrAbortHandler)
	case Oversize:
		text := bytes.Repeat([]byte{'x'}, v.platform.maxBytes+1)
		writeJSON(v.w, http.StatusOK, envelope{Tool: v.call.Tool, Response: marshal(string(text)), Source: proxy.SourceOdyssey})
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
}

// reset closes a network connection with an RST; elsewhere the handler's end without an answer has to do.
func (v *visit) reset() {
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
