//go:build unix

package postgresstore_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/catalog/catalogtest"
	"github.com/toolwire/toolwire/manifest/catalog/postgresstore"
)

const account = "6f9619ff-8b86-4011-b42d-00c04fc964ff"

func open(t *testing.T, pool *pgxpool.Pool, retry time.Duration) *postgresstore.Store {
	t.Helper()
	s, err := postgresstore.OpenRetry(t.Context(), pool, retry)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func record(id, name string) catalog.StoredTool {
	return catalog.StoredTool{ListItem: catalog.ListItem{ID: id, Tool: catalog.Tool{Name: name, AccountID: account,
		Framework: catalog.LangChain, Type: catalog.Custom, Tags: []string{"a"}}, ScriptContent: "class A(BaseTool): pass"}}
}

func wantCode(t *testing.T, what string, err error, code toolwire.Code, text string) {
	t.Helper()
	if toolwire.CodeOf(err) != code || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "BaseTool") {
		t.Errorf("%s: the error is %v, want %s with %q", what, err, code, text)
	}
}

// handles is one catalog that uses several stores in turn.
type handles struct {
	stores []*postgresstore.Store
	n      atomic.Int64
}

func (h *handles) next() *postgresstore.Store { return h.stores[int(h.n.Add(1))%len(h.stores)] }
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

// Three replicas have a pool each. The protocol of the third is the one for poolers without prepared statements.
func TestStore(t *testing.T) {
	s := need(t)
	catalogtest.TestStore(t, func(t *testing.T) catalog.Store {
		config, h := s.schema(t), &handles{}
		for i := range 3 {
			if i == 2 {
				config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
				config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
			}
			h.stores = append(h.stores, open(t, newPool(t, config), long))
		}
		return h
	})
}

func TestReplicasStartAtOnce(t *testing.T) {
	s := need(t)
	for range testkit.Size(3, 20) {
		config := s.schema(t)
		var replicas sync.WaitGroup
		start := make(chan struct{})
		for i := range 4 {
			pool := newPool(t, config)
			replicas.Go(func() {
				<-start
				store, err := postgresstore.Open(t.Context(), pool)
				if err == nil {
					err = store.Create(t.Context(), record(fmt.Sprint(i), fmt.Sprint(i)))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		replicas.Wait()
		pool := newPool(t, config)
		var versions, tools int
		err := pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM toolwire_catalog), (SELECT count(*) FROM toolwire_tools)`).
			Scan(&versions, &tools)
		if err != nil || versions != 1 || tools != 4 {
			t.Fatalf("there are %d versions and %d tools, %v; want 1 and 4", versions, tools, err)
		}
	}
}

func TestLongNames(t *testing.T) {
	s := need(t)
	store := open(t, newPool(t, s.schema(t)), long)
	name := make([]byte, 100_000) // longer than an entry of an index, and not to be compressed
	for i := range name {
		name[i] = byte(rand.IntN(256))
	}
	long := record("1", string(name))
	long.DeletedAt = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	if err := store.Create(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Get(t.Context(), account, "1"); err != nil || !reflect.DeepEqual(got, long) {
		t.Errorf("the record is not the one that was created: %v", err)
	}
	for i, want := range []toolwire.Code{"", toolwire.CodeConflict} {
		if err := store.Create(t.Context(), record(fmt.Sprint(2+i), string(name))); toolwire.CodeOf(err) != want {
			t.Errorf("the name for the %d. time: %v, want %q", i+1, err, want)
		}
	}
}

// A role that may only read and write uses tables that another role has made.
func TestRoleWithoutRights(t *testing.T) {
	s := need(t)
	config := s.schema(t)
	owner := newPool(t, config)
	execute := func(sql string) {
		t.Helper()
		if _, err := owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	role := "role_of_" + config.ConnConfig.RuntimeParams["search_path"]
	execute("CREATE ROLE " + role + " LOGIN")
	execute("GRANT USAGE ON SCHEMA " + config.ConnConfig.RuntimeParams["search_path"] + " TO " + role)
	limited := config.Copy()
	limited.ConnConfig.User = role
	_, err := postgresstore.Open(t.Context(), newPool(t, limited))
	wantCode(t, "a role that may not create", err, "failed", "schema.sql names those that it needs")

	open(t, owner, long)
	execute("GRANT SELECT, INSERT, UPDATE ON toolwire_tools TO " + role)
	execute("GRANT SELECT ON toolwire_catalog TO " + role)
	store := open(t, newPool(t, limited), long)
	if err := store.Create(t.Context(), record("1", "a")); err != nil {
		t.Error(err)
	}
	if _, err := store.Update(t.Context(), account, "1", func(r *catalog.StoredTool) error { r.Name = "b"; return nil }); err != nil {
		t.Error(err)
	}
	execute("REVOKE INSERT ON toolwire_tools FROM " + role)
	wantCode(t, "a role that may not insert", store.Create(t.Context(), record("2", "c")), "failed", "permission denied")
}

// The tables can be made beforehand by schema.sql. Then the program needs no right to make them.
func TestSchemaBeforehand(t *testing.T) {
	s := need(t)
	config := s.schema(t)
	sql, err := os.ReadFile("schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	owner, schema := newPool(t, config), config.ConnConfig.RuntimeParams["search_path"]
	role := "program_of_" + schema
	for _, text := range []string{string(sql), "CREATE ROLE " + role + " LOGIN", "GRANT USAGE ON SCHEMA " + schema + " TO " + role,
		"GRANT SELECT, INSERT, UPDATE ON toolwire_tools TO " + role, "GRANT SELECT ON toolwire_catalog TO " + role} {
		if _, err := owner.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	config.ConnConfig.User = role
	if err := open(t, newPool(t, config), long).Create(t.Context(), record("1", "a")); err != nil {
		t.Error(err)
	}
}

// People read texts as texts, as far as the encoding of the database has them.
func TestTextsCanBeRead(t *testing.T) {
	s := need(t)
	config := s.schema(t)
	config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
	pool := newPool(t, config)
	store := open(t, pool, long)
	for name, want := range map[string]string{"calc": "calc", "Größe": "Größe", "計算": `\350\250\210\347\256\227`, "a\x00b": `a\000b`, "\xff": `\377`} {
		r := record(name, name)
		r.ScriptContent = "hunter2"
		if err := store.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		var got, tags, row string
		err := pool.QueryRow(t.Context(), `SELECT name, tags, v::text FROM toolwire_tools_text v WHERE name = $1`, want).Scan(&got, &tags, &row)
		if err != nil || got != want || tags != `["a"]` || strings.Contains(row, "hunter2") {
			t.Errorf("%q: name %q, tags %s, %s, %v", name, got, tags, row, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	s := need(t)
	prepared := func(sql string) *pgxpool.Pool {
		pool := newPool(t, s.schema(t))
		if _, err := pool.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		return pool
	}
	elsewhere := s.schema(t)
	elsewhere.ConnConfig.Host = t.TempDir()
	elsewhere.ConnConfig.Password = "secret"
	foreign := s.schema(t)
	foreign.ConnConfig.Database = "none"
	foreign.ConnConfig.Password = "secret"
	closed := newPool(t, s.schema(t))
	closed.Close()
	for _, test := range []struct {
		name  string
		pool  *pgxpool.Pool
		retry time.Duration // what cannot get better is not repeated
		code  toolwire.Code
		text  string
	}{
		{"another program's tools", prepared(`CREATE TABLE toolwire_tools (a int)`), long, "schema", "another schema"},
		{"another program's catalog", prepared(`CREATE TABLE toolwire_catalog (a int)`), long, "schema", "another schema"},
		{"no version", prepared(`CREATE TABLE toolwire_catalog (version int)`), long, "schema", "toolwire_catalog is empty"},
		{"a newer version", prepared(`CREATE TABLE toolwire_catalog AS SELECT 7 AS version`), long, "schema",
			"the tables have version 7 and this program supports 1"},
		{"no server", newPool(t, elsewhere), time.Millisecond, toolwire.CodeTransport, "cannot be reached; nothing was written"},
		{"no database", newPool(t, foreign), long, "failed", `database "none" does not exist`},
		{"a closed pool", closed, long, "failed", "closed pool"},
		{"no pool", nil, long, toolwire.CodeInvalidOptions, "a pool is required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := postgresstore.OpenRetry(t.Context(), test.pool, test.retry)
			wantCode(t, "Open", err, test.code, test.text)
			if strings.Contains(fmt.Sprintf("%+v", err), "secret") {
				t.Errorf("the error has the password: %+v", err)
			}
		})
	}
}

// Tables that disappear under a store are an error, and so is a database that is deleted.
func TestDroppedTables(t *testing.T) {
	s := need(t)
	pool := newPool(t, s.schema(t))
	store := open(t, pool, long)
	if _, err := pool.Exec(t.Context(), `DROP TABLE toolwire_tools CASCADE`); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "Create", store.Create(t.Context(), record("1", "a")), "schema", "does not exist")
	_, err := store.List(t.Context(), account, "")
	wantCode(t, "List", err, "schema", "does not exist")
}

// Two that take each other's name wait for each other, until Postgres ends one of them.
func TestDeadlock(t *testing.T) {
	s := need(t)
	store := open(t, newPool(t, s.schema(t)), long)
	for _, name := range []string{"a", "b"} {
		if err := store.Create(t.Context(), record(name, name)); err != nil {
			t.Fatal(err)
		}
	}
	var both, calls sync.WaitGroup
	both.Add(2)
	for id, name := range map[string]string{"a": "b", "b": "a"} {
		calls.Go(func() {
			var once sync.Once
			_, err := store.Update(t.Context(), account, id, func(r *catalog.StoredTool) error {
				once.Do(func() { both.Done(); both.Wait() }) // both have locked their tool
				r.Name = name
				return nil
			})
			if toolwire.CodeOf(err) != toolwire.CodeConflict {
				t.Errorf("the error is %v, want a conflict", err)
			}
		})
	}
	calls.Wait()
}

func TestErrorsAreOfPostgres(t *testing.T) {
	s := need(t)
	pool := newPool(t, s.schema(t))
	store := open(t, pool, long)
	if _, err := pool.Exec(t.Context(), `ALTER TABLE toolwire_tools ADD CHECK (name <> 'forbidden')`); err != nil {
		t.Fatal(err)
	}
	err := store.Create(t.Context(), record("1", "forbidden"))
	wantCode(t, "a constraint of the operator", err, "failed", "check constraint")
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "23514" {
		t.Errorf("the cause is %v", err)
	}
	for _, tool := range []string{"forbidden", hex.EncodeToString([]byte("forbidden"))} { // the cause has the row as its detail
		if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, tool) {
			t.Errorf("the error has the tool: %s", text)
		}
	}
}
