// Package pagecmd is the command toolwire page. It is the platform's half of a run on one machine, with
// a page to look at runs: it serves the proxy that agents call their tools through, dispatches tasks to
// an agent's URL from a form, and shows every run as a timeline.
//
//	toolwire page
//	toolwire page -world world.json -url http://127.0.0.1:8080/dispatch -token-env AGENT_TOKEN
//	toolwire page -world world.json -- python3 driver.py
//
// The program after -- is the agent of all tasks, in code mode. With -url the page starts it as the
// endpoint. The form begins with -url, or without it with the agent of the run before. The token goes to
// the URL of -url only, when the form has no auth value. The form shows the tools and the state of the
// world. The state can be edited for one run. Requests that change something need the token of the page,
// which is in its forms.
//
// Everything happens on loopback and nothing is loaded from elsewhere. Without -world there is a
// sample agent, so that there is something to look at with one click. Runs are kept in memory, the
// last -keep of them, fewer if they are large. With -runs each of them is also a file, which toolwire show
// opens, and the page begins with the last ones. Without -runs they are gone when it stops.
//
// The exit status is 0 after an interrupt, 1 if it cannot serve, 2 for a mistake on the command
// line or in the world.
package pagecmd

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/publicaddr"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

const usage = `usage: toolwire page [flags]
       toolwire page [flags] -- PROGRAM [ARGUMENT…]

	toolwire page -world world.json -url http://127.0.0.1:8000/dispatch \
		-token-env AGENT_TOKEN

Serve a page that dispatches tasks to an agent and shows each run as a timeline.
` + commandline.ProgramUsage

// Run runs the command until ctx ends, and returns its exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("toolwire page", flag.ContinueOnError)
	o.agent.AddFlags(flags, "the agent's `endpoint`, which the form begins with")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:8700", "the `address` to serve on; port 0 is any free one")
	worldFile := flags.String("world", "",
		"JSON `file` with the world that tasks meet (default: the sample's shop, with the sample agent)")
	flags.StringVar(&o.folder, "runs", "", "keep each run that is over as a file in this `folder`, and show the runs in it; "+
		"toolwire show opens one (default: runs are gone when the page stops)")
	flags.IntVar(&o.keep, "keep", 200, "how many runs are kept beside those in progress; the oldest is dropped")
	flags.BoolVar(&o.insecure, "insecure-listen", false,
		"allow an -addr that others can reach: they can see every run, and dispatch tasks with the token")
	if status, ok := o.agent.Parse(flags, usage, args, stdout, stderr); !ok {
		return status
	}
	err := o.check()
	if err == nil {
		err = o.load(*worldFile)
	}
	if err == nil && o.folder != "" {
		if err = os.MkdirAll(o.folder, 0o700); err != nil { // runs have arguments and results
			err = fmt.Errorf("-runs: %w", err)
		}
	}
	o.problem = func(err error) { fmt.Fprintf(stderr, "toolwire page: -runs: %v\n", err) }
	if err != nil {
		fmt.Fprintf(stderr, "toolwire page: %v\n", err)
		return commandline.Mistake
	}
	stop, err := o.agent.Start(ctx, stderr)
	if err == nil {
		defer stop()
		err = serve(ctx, o, stdout)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(stderr, "toolwire page: %v\n", err)
		return commandline.NotWell
	}
	return commandline.OK
}

// options has the values of the command line.
type options struct {
	addr     string
	agent    commandline.Agent
	world    proxytest.World
	sample   bool // the world is the sample's
	keep     int
	folder   string      // for the files of runs
	problem  func(error) // reports that a file cannot be written
	insecure bool        // others may reach the server
}

// check reports the mistakes of the command line.
func (o *options) check() error {
	host, _, err := net.SplitHostPort(o.addr)
	switch {
	case err != nil:
		return fmt.Errorf("-addr %q is not a host and port such as 127.0.0.1:8700", o.addr)
	case o.keep < 1:
		return fmt.Errorf("-keep is 1 or more, not %d", o.keep)
	case !o.insecure && !publicaddr.Loopback(host):
		return fmt.Errorf("-addr %s can be reached from other machines: anyone who reaches it sees every run and dispatches "+
			"tasks; listen on 127.0.0.1, or add -insecure-listen if that is what you want", o.addr)
	}
	return o.checkAgent()
}

// checkAgent reports what the form would say about the agent of the command line.
func (o *options) checkAgent() error {
	err := o.agent.Read()
	if err == nil && len(o.agent.Command) > 0 {
		_, err = dispatchtest.Ping(context.Background(), o.agent.Target) // Ping only looks for the program
	}
	if err != nil || o.agent.URL == "" {
		return err
	}
	f := formOfAgent(&o.agent)
	f.checkURL()
	f.checkAuth(o.agent.AuthValue)
	for _, p := range f.Problems {
		return fmt.Errorf("%s: %s", p.Label, p.Text)
	}
	return nil
}

// load reads the world from a file; "" is the sample's.
func (o *options) load(file string) (err error) {
	o.sample = file == ""
	o.world, err = commandline.World(file, sampleWorld)
	return err
}

// serve serves until ctx ends.
func serve(ctx context.Context, o options, stdout io.Writer) error {
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return fmt.Errorf("%s cannot be listened on: %w\nis another toolwire page, or another program, using the port? "+
			"Choose another with -addr, such as -addr 127.0.0.1:0 for any free one", o.addr, err)
	}
	s, err := newServer(baseURL(listener.Addr()), o)
	if err != nil {
		_ = listener.Close()
		return err
	}
	fmt.Fprintf(stdout, "toolwire page: %s/ (Ctrl-C stops it)\n", s.base)
	return commandline.Serve(ctx, listener, s.handler(), s.runs.stop) // whose requests would delay the end
}

// baseURL returns the URL of the listener for agents on this machine.
func baseURL(addr net.Addr) string {
	a := addr.(*net.TCPAddr).AddrPort()
	if a.Addr().IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", a.Port())
	}
	return "http://" + a.String()
}
