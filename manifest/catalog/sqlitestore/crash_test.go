package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire/manifest/catalog/sqlitestore"
)

// If writerFile is in the environment, the test program writes to that file; writerName becomes
// part of its ids.
const (
	writerFile = "SQLITESTORE_TEST_WRITER_FILE"
	writerName = "SQLITESTORE_TEST_WRITER_NAME"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerFile); path != "" {
		if err := write(path, os.Getenv(writerName)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// write creates tools from several goroutines until it is killed. It prints the id of each tool
// that the store has acknowledged.
func write(path, name string) error {
	s, err := sqlitestore.OpenBusy(context.Background(), path, time.Minute)
	if err != nil {
		return err
	}
	var out sync.Mutex
	failed := make(chan error)
	for g := range 4 {
		go func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("%s-%d-%d", name, g, n)
				r := record(id, id)
				r.ScriptContent = strings.Repeat("# source\n", 500) // several pages
				if err := s.Create(context.Background(), r); err != nil {
					failed <- err
					return
				}
				out.Lock()
				fmt.Println(id)
				out.Unlock()
			}
		}()
	}
	return <-failed
}

// writer is another process that writes.
type writer struct {
	cmd *exec.Cmd
	out *bufio.Scanner
	ids []string
}

func startWriter(t *testing.T, path, name string) *writer {
	t.Helper()
	w := &writer{cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), writerFile+"="+path, writerName+"="+name)
	w.cmd.Stderr = os.Stderr
	pipe, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	w.out = bufio.NewScanner(pipe)
	return w
}

// killAfter kills the process after n acknowledged tools, and collects what it printed. It drops a
// partial last line.
func (w *writer) killAfter(t *testing.T, n int) {
	t.Helper()
	for w.out.Scan() {
		w.ids = append(w.ids, w.out.Text())
		if len(w.ids) == n {
			if err := w.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = w.cmd.Wait() // killed
	if len(w.ids) < n {
		t.Fatalf("the writer ended on its own after %d tools", len(w.ids))
	}
	w.ids = w.ids[:len(w.ids)-1]
}

func TestKilledWritersLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	var acknowledged []string
	for round := range 5 {
		writers := []*writer{startWriter(t, path, fmt.Sprint("a", round)), startWriter(t, path, fmt.Sprint("b", round))}
		var wg sync.WaitGroup
		for n, w := range writers {
			wg.Go(func() { w.killAfter(t, 10+7*round+13*n) })
		}
		wg.Wait()
		for _, w := range writers {
			acknowledged = append(acknowledged, w.ids...)
		}

		var verdict string
		if err := raw(t, path).QueryRow(`PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
			t.Fatalf("after round %d the file is broken: %s, %v", round, verdict, err)
		}
		s := open(t, path, 5*time.Second)
		for _, id := range acknowledged {
			r, err := s.Get(t.Context(), account, id)
			if err != nil || r.Name != id || len(r.ScriptContent) != 4500 {
				t.Fatalf("after round %d the acknowledged record %s is %q, %v", round, id, r.Name, err)
			}
		}
	}
	t.Logf("%d acknowledged records survived 10 kills", len(acknowledged))
}
