package commandline

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"
)

// Serve serves until ctx ends. Then it calls stop, and waits up to 5 seconds for the requests that are open.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, stop func()) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }() // ends with Shutdown or Close
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	stop()
	if err != nil {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if server.Shutdown(last) != nil {
		_ = server.Close()
	}
	return nil
}

// HostName returns the name or the address in a Host header, without the port and brackets. A server of this
// machine must check it, because the name of a hostile page could resolve to its address.
func HostName(r *http.Request) string {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	return strings.Trim(name, "[]")
}
