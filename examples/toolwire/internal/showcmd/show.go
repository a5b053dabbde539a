// Package showcmd is the command toolwire show. It opens what was recorded: tapes, files of results, and
// runs that were saved from toolwire page.
//
//	toolwire show tapes/run-17.jsonl
//	toolwire show -o run.html tapes/run-17.jsonl
//	toolwire show before.jsonl after.jsonl
//
// Without -o it serves one page on loopback until it is interrupted. The page needs no script and loads
// nothing. Of a tape and of a run it shows the timeline, the transcript as the platform would show it and
// the changes of the ledger, of which tapes have none. Files of results are shown as eval -html shows
// them; of one that is not complete, the first runs are shown. Two files are compared: of tapes and runs
// the first difference is on top. The files are not changed.
//
// The exit status is 0 if the page was written, or served until an interrupt, 1 if it cannot be served,
// and 2 for a mistake on the command line or in a file.
package showcmd

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/examples/toolwire/internal/runfile"
	"github.com/toolwire/toolwire/internal/publicaddr"
)

const usage = `usage: toolwire show [flags] FILE [FILE]

	toolwire show tapes/run-17.jsonl
	toolwire show -o run.html tapes/run-17.jsonl
	toolwire show before.jsonl after.jsonl

Show a tape, a file of results, or a run saved from toolwire page, in the browser or as one HTML file.
Two files are shown side by side, with the first difference on top.`

// Run runs the command until the page is written or ctx ends, and returns its exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("toolwire show", flag.ContinueOnError)
	out := flags.String("o", "", "write the page to this `file` and do not serve it")
	addr := flags.String("addr", "127.0.0.1:0", "the loopback `address` to serve on; port 0 is any free one")
	if status, ok := commandline.Parse(flags, usage, args, stdout, stderr); !ok {
		return status
	}
	page, err := pageOf(ctx, flags.Args())
	if host, _, wrong := net.SplitHostPort(*addr); err == nil && (wrong != nil || !publicaddr.Loopback(host)) {
		err = errors.New("-addr is not a loopback address with a port, such as 127.0.0.1:8701")
	}
	if err == nil && *out != "" {
		err = write(*out, page, flags.Args())
	}
	if err != nil {
		fmt.Fprintf(stderr, "toolwire show: %v\n", err)
		return commandline.Mistake
	}
	if *out != "" {
		return commandline.OK
	}
	if err := serve(ctx, *addr, page, stdout); err != nil {
		fmt.Fprintf(stderr, "toolwire show: %v\n", err)
		return commandline.NotWell
	}
	return commandline.OK
}

// The kinds of files.
const (
	aTape    = "tape"
	aRun     = "run"
	aResults = "file of results"
)

// kindOf tells what a file is by how it begins.
func kindOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	begin := make([]byte, 256)
	n, err := io.ReadFull(f, begin)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return "", err
	}
	text := strings.TrimLeft(strings.TrimPrefix(string(begin[:n]), "\uFEFF"), " \t\r\n")
	switch {
	case strings.HasPrefix(text, `{"format":"toolwire eval results`):
		return aResults, nil
	case strings.HasPrefix(text, runfile.Begin):
		return aRun, nil
	case strings.HasPrefix(text, `{`) && strings.Contains(text, `"cassette"`):
		return aTape, nil
	}
	return "", fmt.Errorf("%s is not a tape, a file of results or a saved run", file)
}

// pageOf returns the page of the files.
func pageOf(ctx context.Context, files []string) ([]byte, error) {
	if len(files) < 1 || len(files) > 2 {
		return nil, fmt.Errorf("it shows one file or two, not %d; see toolwire show -h", len(files))
	}
	var kinds []string
	for _, file := range files {
		kind, err := kindOf(file)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	if len(kinds) == 2 && (kinds[0] == aResults) != (kinds[1] == aResults) {
		return nil, fmt.Errorf("a %s and a %s cannot be compared", kinds[0], kinds[1])
	}
	var b bytes.Buffer
	var shown []*recording
	if kinds[0] == aResults {
		problem := writeResults(&b, files)
		if problem != nil && len(files) == 1 {
			shown = readTrials(files[0], problem)
		}
		if shown == nil {
			return b.Bytes(), problem
		}
		b.Reset()
		err := writeRuns(&b, shown)
		return b.Bytes(), err
	}
	for i, file := range files {
		r, err := open(ctx, file, kinds[i])
		if err != nil {
			return nil, err
		}
		shown = append(shown, r)
	}
	err := writeRuns(&b, shown)
	return b.Bytes(), err
}

// writeResults writes the page of an experiment: of one file, of the files of its shards, or of the second
// file compared with the first.
func writeResults(w io.Writer, files []string) error {
	e, err := eval.Load(files...)
	if err == nil {
		e.Name = nameOf(files[0])
		return e.WriteHTML(w)
	}
	if len(files) == 1 {
		return err
	}
	before, err := eval.Load(files[0])
	if err != nil {
		return err
	}
	if e, err = eval.Load(files[1]); err != nil {
		return err
	}
	before.Name, e.Name = nameOf(files[0]), nameOf(files[1])
	return e.WriteHTML(w, before)
}

func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) }

// write writes the page to a file that is none of those it shows.
func write(path string, page []byte, files []string) error {
	if out, err := os.Stat(path); err == nil {
		for _, file := range files {
			if in, err := os.Stat(file); err == nil && os.SameFile(in, out) {
				return fmt.Errorf("-o and %s name the same file", file)
			}
		}
	}
	if err := os.WriteFile(path, page, 0o600); err != nil { // it has arguments and results
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}

// serve serves the page until ctx ends.
func serve(ctx context.Context, addr string, page []byte, stdout io.Writer) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("%s cannot be listened on: %w", addr, err)
	}
	fmt.Fprintf(stdout, "toolwire show: http://%s/ (Ctrl-C stops it)\n", listener.Addr())
	return commandline.Serve(ctx, listener, handler(page), func() {})
}

// handler serves the page. It refuses other host names.
func handler(page []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "frame-ancestors 'none'") // the page has the rest
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !publicaddr.Loopback(commandline.HostName(r)):
			http.Error(w, "this server does not serve this host name", http.StatusForbidden)
		case r.URL.Path != "/":
			http.NotFound(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
		default:
			h.Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(page)
		}
	})
}
