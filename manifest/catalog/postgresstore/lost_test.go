//go:build unix

package postgresstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/catalog/postgresstore"
)

// A cut ends a connection once, when a message with a text is sent: before the server has it, or after
// the server has answered and before the answer arrives.
type cut struct {
	text  string
	after bool
	says  string // arrives in place of the answer
	then  func() // is called at the cut; may be nil
	gone  bool   // no connection can be made afterwards

	armed, done atomic.Bool
}

func (c *cut) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.gone && c.done.Load() {
		return nil, errors.New("the server is gone")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &line{Conn: conn, cut: c}, err
}

// line is a connection that can be cut.
type line struct {
	net.Conn
	cut  *cut
	deaf atomic.Bool
}

func (l *line) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(l.cut.text)) && l.cut.armed.CompareAndSwap(true, false) {
		if !l.cut.after {
			return 0, l.end()
		}
		l.deaf.Store(true)
	}
	return l.Conn.Write(b)
}

func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if err == nil && l.deaf.Load() {
		return copy(b, l.cut.says), l.end()
	}
	return n, err
}

func (l *line) end() error {
	l.cut.done.Store(true)
	if l.cut.then != nil {
		l.cut.then()
	}
	return errors.Join(io.ErrUnexpectedEOF, l.Conn.Close())
}

// cutStore is a store with one connection.
func cutStore(t *testing.T, config *pgxpool.Config, c *cut, retry time.Duration) *postgresstore.Store {
	t.Helper()
	config = config.Copy()
	config.MaxConns = 1
	config.ConnConfig.DialFunc = c.dial
	store := open(t, newPool(t, config), retry)
	c.armed.Store(true)
	return store
}

// long is a time that a test does not reach, so that its result does not depend on the load of the machine.
const long = 5 * time.Minute

// A write is done once, wherever its connection is lost. It is not repeated if it may have been committed, as it may
// if the server says that it ends the connection.
func TestLostConnection(t *testing.T) {
	s := need(t)
	ends := message('E', "SFATAL\x00VFATAL\x00C57P01\x00Mterminating connection due to administrator command\x00\x00")
	for _, test := range []struct {
		name    string
		text    string // in the message at which the connection is lost
		after   bool
		says    string // of the server, in place of its answer
		changes int    // calls of change
		code    toolwire.Code
	}{
		{"before it begins", "begin", false, "", 1, ""},
		{"after it began", "begin", true, "", 1, ""},
		{"before the write", "marker", false, "", 2, ""},
		{"after the write", "marker", true, "", 2, ""},
		{"the server ends it after the write", "marker", true, ends, 2, ""},
		{"before the commit", "commit\x00", false, "", 1, "unknown"},
		{"after the commit", "commit\x00", true, "", 1, "unknown"},
		{"the server ends it after the commit", "commit\x00", true, ends, 1, "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := s.schema(t)
			check := open(t, newPool(t, config), long)
			c := &cut{text: test.text, after: test.after, says: test.says}
			if err := cutStore(t, config, c, long).Create(t.Context(), record("1", "marker")); !is(err, test.code) || !c.done.Load() {
				t.Fatalf("Create: %v; the connection was lost: %t", err, c.done.Load())
			}
			written := test.code == "" || test.after
			if _, err := check.Get(t.Context(), account, "1"); (err == nil) != written {
				t.Errorf("the record: %v, want it written: %t", err, written)
			}
			if err := check.Create(t.Context(), record("2", "name")); err != nil {
				t.Fatal(err)
			}
			c, changes := &cut{text: strings.Replace(test.text, "marker", "remarked", 1), after: test.after, says: test.says}, 0
			r, err := cutStore(t, config, c, long).Update(t.Context(), account, "2", func(r *catalog.StoredTool) error {
				changes++
				r.Name, r.Tags = "remarked", append(r.Tags, "b")
				return nil
			})
			if !is(err, test.code) || !c.done.Load() || changes != test.changes || err == nil && len(r.Tags) != 2 {
				t.Errorf("Update: %+v, %v; the connection was lost: %t; %d calls of change, want %d", r, err, c.done.Load(), changes, test.changes)
			}
			if r, err := check.Get(t.Context(), account, "2"); err != nil || (r.Name == "remarked") != written || (len(r.Tags) == 2) != written {
				t.Errorf("the record is %+v, %v, want it written: %t", r, err, written)
			}
		})
	}
	for _, after := range []bool{false, true} {
		config := s.schema(t)
		if err := open(t, newPool(t, config), long).Create(t.Context(), record("1", "a")); err != nil {
			t.Fatal(err)
		}
		c := &cut{text: account, after: after}
		if _, err := cutStore(t, config, c, long).Get(t.Context(), account, "1"); err != nil || !c.done.Load() {
			t.Errorf("Get: %v", err)
		}
		c = &cut{text: account, after: after}
		if list, err := cutStore(t, config, c, long).List(t.Context(), account, ""); err != nil || len(list) != 1 || !c.done.Load() {
			t.Errorf("List: %v, %v", list, err)
		}
	}
}

// is reports whether an error has the code, or is nil if that is "".
func is(err error, code toolwire.Code) bool {
	return toolwire.CodeOf(err) == code && (err == nil) == (code == "")
}

// A commit that the server answers with an error has written nothing: it is repeated if others were the cause, and
// is no unknown end otherwise. A sequence counts the commits, since a transaction does not roll it back.
func TestRefusedCommit(t *testing.T) {
	s := need(t)
	for _, test := range []struct {
		name, state string
		refused     int // commits
		commits     int64
		code        toolwire.Code
	}{
		{"once, because of another transaction", "40001", 1, 2, ""},
		{"for what it writes", "23514", 9, 1, "failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := newPool(t, s.schema(t))
			store := open(t, pool, long)
			if _, err := pool.Exec(t.Context(), fmt.Sprintf(`CREATE SEQUENCE commits;
				CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN
					IF nextval('commits') <= %d THEN RAISE 'refused' USING ERRCODE = '%s'; END IF;
					RETURN NULL;
				END $$;
				CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON toolwire_tools DEFERRABLE INITIALLY DEFERRED
				FOR EACH ROW EXECUTE FUNCTION refuse()`, test.refused, test.state)); err != nil {
				t.Fatal(err)
			}
			if err := store.Create(t.Context(), record("1", "a")); !is(err, test.code) {
				t.Errorf("Create: %v, want the code %q", err, test.code)
			}
			var commits int64
			if err := pool.QueryRow(t.Context(), "SELECT last_value FROM commits").Scan(&commits); err != nil || commits != test.commits {
				t.Errorf("%d commits, %v, want %d", commits, err, test.commits)
			}
			if _, err := store.Get(t.Context(), account, "1"); (err == nil) != (test.code == "") {
				t.Errorf("the record: %v", err)
			}
		})
	}
}

// If the server stays away, the error tells whether the write may have happened.
func TestServerIsGone(t *testing.T) {
	s := need(t)
	for _, test := range []struct {
		name, text string
		after      bool
		code       toolwire.Code
		written    bool
	}{
		{"before the write", "marker", false, toolwire.CodeTransport, false},
		{"after the write", "marker", true, toolwire.CodeTransport, false},
		{"before the commit", "commit\x00", false, "unknown", false},
		{"after the commit", "commit\x00", true, "unknown", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := s.schema(t)
			c := &cut{text: test.text, after: test.after, gone: true}
			err := cutStore(t, config, c, time.Second).Create(t.Context(), record("1", "marker"))
			wantCode(t, "Create", err, test.code, "")
			_, err = open(t, newPool(t, config), long).Get(t.Context(), account, "1")
			if written := err == nil; written != test.written {
				t.Errorf("it was written: %t, %v", written, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			c = &cut{text: test.text, after: test.after, gone: true, then: cancel}
			if err := cutStore(t, config, c, long).Create(ctx, record("2", "marker 2")); !errors.Is(err, context.Canceled) {
				t.Errorf("with a context that ended: %v", err)
			}
		})
	}
}

// The server is killed while eight write, five times with TOOLWIRE_NIGHTLY. Each tool that was
// acknowledged is there, and of the others only some whose error says so.
func TestKilledServerLosesNothing(t *testing.T) {
	s := need(t)
	config, kills := s.schema(t), testkit.Size(1, 5)
	var mu sync.Mutex
	outcomes := map[string]error{} // of each call
	var acknowledged, unknown atomic.Int64
	var writers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for replica := range 2 {
		store := open(t, newPool(t, config), long)
		for g := range 4 {
			writers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					id := fmt.Sprintf("%d-%d-%d", replica, g, n)
					err := store.Create(t.Context(), record(id, id))
					switch {
					case err == nil:
						acknowledged.Add(1)
					case is(err, "unknown"):
						unknown.Add(1)
					default:
						t.Errorf("Create: %v", err)
						return
					}
					mu.Lock()
					outcomes[id] = err
					mu.Unlock()
				}
			})
		}
	}
	for round := range kills + 1 {
		for target := acknowledged.Load() + int64(40+17*round); acknowledged.Load() < target; time.Sleep(time.Millisecond) {
			if t.Failed() {
				t.FailNow()
			}
		}
		if round < kills {
			if err := errors.Join(s.kill(), s.start()); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	writers.Wait()
	list, err := open(t, newPool(t, config), long).List(t.Context(), account, "")
	if err != nil {
		t.Fatal(err)
	}
	written := int64(0)
	for _, r := range list {
		if err, is := outcomes[r.ID]; !is || err != nil {
			written++
		}
		delete(outcomes, r.ID)
	}
	for id, err := range outcomes {
		if err == nil {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	if written > unknown.Load() {
		t.Errorf("%d calls failed and %d of them have written", unknown.Load(), written)
	}
	t.Logf("%d acknowledged records survived %d kills; of %d that were unknown %d were written", acknowledged.Load(), kills, unknown.Load(), written)
}

// While the database is down, or does not answer, the handler says when to try again. Afterwards it
// goes on by itself.
func TestHandlerWithoutADatabase(t *testing.T) {
	s := need(t)
	store := open(t, newPool(t, s.schema(t)), 300*time.Millisecond)
	h, err := catalog.NewHandler(store, &catalog.HandlerOptions{InsecureAccount: account})
	if err != nil {
		t.Fatal(err)
	}
	list := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/tools/", nil))
		return w
	}
	recovers := func() {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); list().Code != 200; {
			if time.Now().After(deadline) {
				t.Fatal("the handler does not recover")
			}
		}
	}
	recovers()
	if err := s.kill(); err != nil {
		t.Fatal(err)
	}
	w := list()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("without a server: %d %v %s", w.Code, w.Header(), w.Body)
	}
	recovers()
	var silent atomic.Bool // a server that takes connections and says nothing
	config := s.schema(t)
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if silent.Load() {
			here, _ := net.Pipe()
			return here, nil
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	pool := newPool(t, config)
	if h, err = catalog.NewHandler(open(t, pool, 300*time.Millisecond),
		&catalog.HandlerOptions{InsecureAccount: account}); err != nil {
		t.Fatal(err)
	}
	silent.Store(true)
	pool.Reset()
	if w := list(); w.Code != 503 {
		t.Errorf("with a silent server: %d %s", w.Code, w.Body)
	}
	silent.Store(false)
	pool.Reset()
	recovers()
}
