package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/catalog/catalogtest"
	"github.com/toolwire/toolwire/manifest/catalog/sqlitestore"
)

const account = "6f9619ff-8b86-4011-b42d-00c04fc964ff"

func open(t *testing.T, path string, busy time.Duration) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.OpenBusy(t.Context(), path, busy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func record(id, name string) catalog.StoredTool {
	return catalog.StoredTool{ListItem: catalog.ListItem{ID: id, Tool: catalog.Tool{Name: name, AccountID: account,
		Framework: catalog.LangChain, Type: catalog.Custom, Tags: []string{"a"}}, ScriptContent: "class A(BaseTool): pass"}}
}

func TestStore(t *testing.T) {
	catalogtest.TestStore(t, func(t *testing.T) catalog.Store {
		return open(t, filepath.Join(t.TempDir(), "catalog.db"), 5*time.Second)
	})
}

// handles is one catalog that uses several stores in turn.
type handles struct {
	stores []*sqlitestore.Store
	n      atomic.Int64
}

func (h *handles) next() *sqlitestore.Store { return h.stores[int(h.n.Add(1))%len(h.stores)] }
func (h *handles) Create(ctx context.Context, r catalog.StoredTool) error {
	return h.next().Create(ctx, r)
}
func (h *handles) Get(ctx context.Context, account, id string) (catalog.StoredTool, error) {
	return h.next().Get(ctx, account, id)
}
func (h *handles) List(ctx context.Context, account string, t catalog.Type) ([]catalog.StoredTool, error) {
	return h.next().List(ctx, account, t)
}
func (h *handles) Update(ctx context.Context, account, id string, change func(*catalog.StoredTool) error) (catalog.StoredTool, error) {
	return h.next().Update(ctx, account, id, change)
}

func TestSeveralStoresOfOneFile(t *testing.T) {
	catalogtest.TestStore(t, func(t *testing.T) catalog.Store {
		path := filepath.Join(t.TempDir(), "catalog.db")
		const long = time.Minute // a disk may be slow
		return &handles{stores: []*sqlitestore.Store{open(t, path, long), open(t, path, long), open(t, path, long)}}
	})
}

func TestRestart(t *testing.T) {
	// Characters of a path are not interpreted.
	path := filepath.Join(t.TempDir(), "100% of?mode=memory#a b.db")
	if runtime.GOOS == "windows" {
		path = filepath.Join(t.TempDir(), "100% of#a b.db")
	}
	want := record("id", "name")
	want.DeletedAt = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	s, err := sqlitestore.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, path, 5*time.Second).Get(t.Context(), account, "id")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart the record is\n\t%+v, %v, want\n\t%+v", got, err, want)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want it for its owner only", info.Mode(), err)
	}
	if err := s.Create(t.Context(), record("2", "other")); err == nil {
		t.Error("a closed store accepts tools")
	}
}

func TestDurabilityIsOn(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "catalog.db"), 5*time.Second)
	for range 3 { // every connection must have it
		conn, err := s.DB().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		var journal string
		var synchronous int
		err = conn.QueryRowContext(t.Context(),
			`SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous`).
			Scan(&journal, &synchronous)
		if err != nil || journal != "wal" || synchronous != 2 {
			t.Errorf("the journal is %q, synchronous is %d, %v; want wal and 2 (FULL)", journal, synchronous, err)
		}
	}
}

// raw opens a file without the package.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign.db")
	if _, err := raw(t, foreign).Exec(`CREATE TABLE theirs (a)`); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer.db")
	s := open(t, newer, 5*time.Second)
	if err := s.Create(t.Context(), record("id", "name")); err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, newer).Exec(`PRAGMA user_version = 7`); err != nil {
		t.Fatal(err)
	}
	prose := filepath.Join(dir, "prose.txt")
	if err := os.WriteFile(prose, []byte(strings.Repeat("This is not a database. ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	crowded := filepath.Join(dir, "crowded.db")
	if err := os.Mkdir(crowded+"-journal", 0o700); err != nil { // as in a folder without write permission
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, path string
		code       toolwire.Code
		text       string
	}{
		{"another program's", foreign, "schema", "another program"},
		{"a newer version", newer, "schema", "version 7 of the tables and this program supports 1"},
		{"no database", prose, "schema", "not a SQLite database"},
		{"no room for its log", crowded, "open", "its folder must be writable"},
		{"no folder", filepath.Join(dir, "none", "catalog.db"), "open", "cannot be opened"},
		{"a folder", dir, "open", "cannot be opened"},
		{"memory", ":memory:", "open", "NewMemoryStore"},
		{"no path", "", "open", "a file is required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := sqlitestore.Open(t.Context(), test.path)
			e, ok := errors.AsType[*toolwire.Error](err)
			if !ok || e.Code != test.code || !strings.Contains(e.Error(), test.text) {
				t.Errorf("the error is %v, want %s with %q", err, test.code, test.text)
			}
			if cause := errors.Unwrap(err); cause != nil && !strings.HasSuffix(err.Error(), ": "+cause.Error()) {
				t.Errorf("the error %v does not say its cause %v", err, cause)
			}
		})
	}
	var mode string
	if err := raw(t, foreign).QueryRow(`PRAGMA journal_mode`).Scan(&mode); err != nil || mode != "delete" {
		t.Errorf("another program's file was changed: its journal is %q, %v", mode, err)
	}
}

// lock holds the write lock of a file until the test ends or unlock is called.
func lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db := raw(t, path)
	if _, err := db.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := db.Exec(`ROLLBACK`); err != nil {
			t.Error(err)
		}
	}
}

func TestLockedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	hasty := open(t, path, 20*time.Millisecond)
	patient := open(t, path, time.Hour)
	unlock := lock(t, path)

	err := hasty.Create(t.Context(), record("1", "a"))
	if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Code != "busy" {
		t.Errorf("a locked file gives %v, want CodeBusy", err)
	}
	if _, err := hasty.List(t.Context(), account, ""); err != nil {
		t.Errorf("a writer blocks readers: %v", err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := patient.Create(ctx, record("1", "a")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that ends during the wait gives %v", err)
	}
	queued, cancelQueued := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- patient.Create(t.Context(), record("2", "b")) }()
	second := make(chan error, 1)
	go func() { second <- patient.Create(queued, record("3", "c")) }() // behind the first one, or before it
	cancelQueued()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends in the queue gives %v", err)
	}
	unlock()
	if err := <-first; err != nil {
		t.Errorf("after unlocking: %v", err)
	}
}

// failed checks that an error comes from SQLite and quotes nothing of a tool.
func failed(t *testing.T, what string, err error) {
	t.Helper()
	if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Code != "failed" ||
		strings.Contains(e.Error(), "BaseTool") {
		t.Errorf("%s gives %v, want CodeFailed", what, err)
	}
}

func TestFullDisk(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "catalog.db"), 5*time.Second)
	s.DB().SetMaxOpenConns(1) // the limit applies to one connection
	limit := func(pages string) {
		t.Helper()
		if _, err := s.DB().ExecContext(t.Context(), `PRAGMA max_page_count = `+pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("40")
	large := func(r *catalog.StoredTool) { r.ScriptContent = strings.Repeat(r.ScriptContent, 1000) }
	var err error
	kept := 0
	for ; err == nil && kept < 100; kept++ {
		r := record(fmt.Sprint(kept), fmt.Sprint(kept))
		large(&r)
		err = s.Create(t.Context(), r)
	}
	kept--
	failed(t, "a full disk", err)
	_, err = s.Update(t.Context(), account, "0", func(r *catalog.StoredTool) error {
		r.Name = "new"
		large(r)
		return nil
	})
	failed(t, "an update on a full disk", err)
	if list, err := s.List(t.Context(), account, ""); err != nil || len(list) != kept || kept == 0 || list[0].Name != "0" {
		t.Errorf("of %d tools the list has %d, %v", kept, len(list), err)
	}
	limit("1000")
	if err := s.Create(t.Context(), record("new", "new")); err != nil {
		t.Errorf("with free space: %v", err)
	}
}

func TestBrokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	s, err := sqlitestore.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		if err := s.Create(t.Context(), record(fmt.Sprint(n), fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(file); i++ { // keep the first page, which has the marks and the definitions
		if i%4096 < 100 {
			file[i] = 0xff
		}
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, 5*time.Second)
	_, err = s.Get(t.Context(), account, "1")
	failed(t, "Get", err)
	_, err = s.List(t.Context(), account, "")
	failed(t, "List", err)
	failed(t, "Create", s.Create(t.Context(), record("new", "new")))
	_, err = s.Update(t.Context(), account, "1", func(*catalog.StoredTool) error { return nil })
	failed(t, "Update", err)

	if err := errors.Join(s.Close(), os.WriteFile(path, file[:5000], 0o600)); err != nil { // truncated
		t.Fatal(err)
	}
	_, err = sqlitestore.Open(t.Context(), path)
	failed(t, "Open", err)
}
