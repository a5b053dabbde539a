// Localplatform is the platform's half of a run on one machine, with a page to look at runs: it serves the proxy that
// agents call their tools through, dispatches tasks to an agent's URL from a form, and shows every run as a timeline.
//
//	go run ./examples/localplatform
//	go run ./examples/localplatform -world world.json -addr 127.0.0.1:9000
//
// Everything happens on loopback and nothing is loaded from elsewhere. A sample agent is built in, so that there is
// something to look at with one click. Runs are kept in memory, the last -keep of them, and are gone when it stops.
//
// The exit status is 0 after an interrupt, 1 if it cannot serve, 2 for a mistake on the command line or in the world.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("localplatform", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8700", "the `address` to serve on; port 0 is any free one")
	worldFile := flags.String("world", "", "JSON `file` with the world that tasks meet (default: the sample's shop)")
	keep := flags.Int("keep", 200, "how many runs are kept beside those in progress; the oldest is dropped")
	insecure := flags.Bool("insecure-listen", false, "allow an -addr that others can reach: they can see every run and dispatch tasks")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	world, err := check(flags, *addr, *worldFile, *keep, *insecure)
	if err != nil {
		fmt.Fprintf(stderr, "localplatform: %v\n", err)
		return 2
	}
	if err := serve(ctx, *addr, world, *keep, *insecure, stdout); err != nil {
		fmt.Fprintf(stderr, "localplatform: %v\n", err)
		return 1
	}
	return 0
}

// check finds the mistakes of the command line.
func check(flags *flag.FlagSet, addr, worldFile string, keep int, insecure bool) (proxytest.World, error) {
	host, _, err := net.SplitHostPort(addr)
	switch {
	case flags.NArg() > 0:
		return proxytest.World{}, fmt.Errorf("unexpected argument %q; see -h", flags.Arg(0))
	case err != nil:
		return proxytest.World{}, fmt.Errorf("-addr %q is no host and port, such as 127.0.0.1:8700", addr)
	case keep < 1:
		return proxytest.World{}, fmt.Errorf("-keep is 1 or more, not %d", keep)
	case !insecure && !isLoopback(host):
		return proxytest.World{}, fmt.Errorf("-addr %s can be reached from other machines, and whoever reaches it sees every run and dispatches "+
			"tasks; listen on 127.0.0.1, or add -insecure-listen if that is what you want", addr)
	}
	return loadWorld(worldFile)
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// serve serves until ctx ends.
func serve(ctx context.Context, addr string, world proxytest.World, keep int, insecure bool, stdout io.Writer) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("%s cannot be listened on: %w\nis another localplatform, or another program, using the port? "+
			"Choose another with -addr, such as -addr 127.0.0.1:0 for any free one", addr, err)
	}
	runs, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	s, err := newServer(runs, baseURL(listener.Addr()), world, keep)
	if err != nil {
		_ = listener.Close()
		return err
	}
	s.insecure = insecure
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }() // ends with Shutdown or Close
	fmt.Fprintf(stdout, "localplatform: %s/ (Ctrl-C stops it)\n", s.base)
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stop() // runs in progress end now, so that what they wait for does not keep the server
	s.runs.wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if server.Shutdown(last) != nil {
		_ = server.Close()
	}
	return nil
}

// baseURL is where the agent of a run, on this machine, finds the listener.
func baseURL(addr net.Addr) string {
	a := addr.(*net.TCPAddr).AddrPort()
	if a.Addr().IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", a.Port())
	}
	return "http://" + a.String()
}
