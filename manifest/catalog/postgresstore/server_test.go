//go:build unix

package postgresstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// server is a Postgres server of this test, on a Unix socket in a temporary folder. Postgres refuses to
// run as root, so a test of root's starts it as nobody.
type server struct {
	programs, folder string
	as               *syscall.Credential
	cmd              *exec.Cmd
	ended            chan struct{}
}

// shared is the server of all tests; why says why there is none.
var (
	shared *server
	why    error
	first  sync.Once
	number atomic.Int64 // of the last schema
)

func TestMain(m *testing.M) {
	status := m.Run()
	if shared != nil {
		shared.remove()
	}
	os.Exit(status)
}

// errNoServer is the reason for which tests are skipped. Any other error fails them.
var errNoServer = errors.New("no Postgres server can be run here")

func newServer() (*server, error) {
	s := &server{}
	if path, err := exec.LookPath("initdb"); err == nil {
		s.programs = filepath.Dir(path)
	} else { // of Debian, which does not have them in PATH
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			return nil, fmt.Errorf("%w: initdb is not in PATH or /usr/lib/postgresql; install the package postgresql", errNoServer)
		}
		s.programs = filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return len(a) - len(b) })) // 9.6 is shorter
	}
	var err error
	if s.folder, err = os.MkdirTemp("", "pg"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			s.remove()
			return nil, fmt.Errorf("%w: it does not run as root, and %v", errNoServer, err)
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(s.folder, uid, gid); err != nil {
			s.remove()
			return nil, fmt.Errorf("%w: %v", errNoServer, err)
		}
	}
	initdb := s.command("initdb", "--pgdata", s.folder+"/data", "--username=toolwire", "--auth=trust", "--no-sync",
		"--encoding=LATIN1", "--locale=C") // what a store must not depend on
	if output, err := initdb.CombinedOutput(); err != nil {
		s.remove()
		return nil, fmt.Errorf("initdb: %v\n%s", err, output)
	}
	return s, nil
}

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, name), args...)
	cmd.Dir = s.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

// start starts the server and waits until it answers. It waits for the processes of a server that was
// killed: until they have ended, another one does not start.
func (s *server) start() error {
	log, err := os.OpenFile(s.folder+"/log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if s.cmd == nil {
			// -F: what was written survives the death of a process without fsync.
			s.cmd, s.ended = s.command("postgres", "-D", s.folder+"/data", "-k", s.folder, "-F", "-c", "listen_addresses="), make(chan struct{})
			s.cmd.Stdout, s.cmd.Stderr = log, log
			if err := s.cmd.Start(); err != nil {
				return err
			}
			go func(cmd *exec.Cmd, ended chan struct{}) { _ = cmd.Wait(); close(ended) }(s.cmd, s.ended)
		}
		conn, err := pgx.Connect(context.Background(), s.url())
		if err == nil {
			return conn.Close(context.Background())
		}
		select {
		case <-s.ended:
			s.cmd = nil
		default:
		}
	}
	text, _ := os.ReadFile(s.folder + "/log")
	return fmt.Errorf("the server does not start:\n%s", text)
}

func (s *server) url() string { return "host=" + s.folder + " user=toolwire dbname=postgres" }

// kill kills the server and its processes, which are sessions of their own.
func (s *server) kill() error {
	own := s.cmd.Process.Pid
	_ = syscall.Kill(own, syscall.SIGSTOP)                             // it starts no more of them
	output, _ := exec.Command("ps", "-A", "-o", "ppid=,pid=").Output() // without ps they end by themselves, which start waits for
	for line := range strings.Lines(string(output)) {
		var parent, pid int
		if _, err := fmt.Sscan(line, &parent, &pid); err == nil && parent == own {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	err := s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
	return err
}

func (s *server) remove() {
	if s.cmd != nil {
		_ = s.kill()
	}
	_ = os.RemoveAll(s.folder)
}

// need starts the server, or skips a test without one.
func need(t *testing.T) *server {
	t.Helper()
	first.Do(func() {
		if shared, why = newServer(); why == nil {
			why = shared.start()
		}
	})
	if errors.Is(why, errNoServer) {
		t.Skip(why)
	}
	if why != nil {
		t.Fatal(why)
	}
	return shared
}

// schema makes a schema and returns what connects to it.
func (s *server) schema(t *testing.T) *pgxpool.Config {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.url())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	name := fmt.Sprint("s", number.Add(1))
	if _, err := conn.Exec(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	config, err := pgxpool.ParseConfig(s.url() + " search_path=" + name)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func newPool(t *testing.T, config *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(context.Background(), config.Copy())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}
