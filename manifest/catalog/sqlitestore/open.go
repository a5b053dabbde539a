package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// The marks of this package in the header of a file.
const (
	applicationID = 0x746f6f6c // "tool"
	schemaVersion = 1
)

// connections bounds the calls of one store that run at the same time; others wait.
const connections = 8

const schema = `
CREATE TABLE tools (
	account TEXT NOT NULL,
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	framework TEXT NOT NULL,
	type TEXT NOT NULL,
	description TEXT NOT NULL,
	tags TEXT NOT NULL,       -- JSON: a list of strings, or null
	version TEXT NOT NULL,
	class_name TEXT NOT NULL,
	module_name TEXT NOT NULL,
	deleted_at INTEGER,       -- microseconds since 1970; NULL if it is not deleted
	source TEXT NOT NULL,
	PRIMARY KEY (account, id)
) STRICT;
CREATE UNIQUE INDEX tools_live_name ON tools (account, name) WHERE deleted_at IS NULL;
`

// open checks the file, or creates it, before use, so that it does not put a file of another
// program into WAL mode.
func (s *Store) open(ctx context.Context, path string) error {
	if path == "" || path == ":memory:" {
		return failure(codeOpen, "a file is required; for a store in memory use catalog.NewMemoryStore", nil)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return failure(codeOpen, "the file cannot be opened for writing", err)
	}
	name, err := dataSource(path)
	if err != nil {
		return failure(codeOpen, "the path of the file is not valid", err)
	}
	if err := s.prepare(ctx, name+"?_txlock=immediate"); err != nil {
		return err
	}
	const pragmas = "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	if s.db, err = sql.Open("sqlite", name+pragmas); err != nil {
		return failure(codeOpen, "the file cannot be opened", err)
	}
	s.db.SetMaxOpenConns(connections)
	s.db.SetMaxIdleConns(connections)
	var mode string
	err = s.retry(ctx, func() error { return s.db.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode) })
	if err != nil {
		_ = s.db.Close()
		return s.explain(ctx, "", err)
	}
	if mode != "wal" {
		_ = s.db.Close()
		return failure(codeOpen, "the file cannot be put into WAL mode; it must be on a local disk", nil)
	}
	return nil
}

// dataSource returns the path as a URI, with every character escaped that has a meaning.
func dataSource(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/…
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String(), nil
}

// prepare checks that the file belongs to this package, and creates the tables of a new file.
func (s *Store) prepare(ctx context.Context, name string) error {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return failure(codeOpen, "the file cannot be opened", err)
	}
	defer func() { _ = db.Close() }()
	var found struct{ application, version, objects int }
	err = s.retry(ctx, func() error {
		return db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
			(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).
			Scan(&found.application, &found.version, &found.objects)
	})
	switch {
	case err != nil && code(err) == codeNotADatabase:
		return failure(codeSchema, "the file is not a SQLite database", err)
	case err != nil:
		return s.explain(ctx, "", err)
	case found.application == 0 && found.version == 0 && found.objects == 0:
		return s.make(ctx, db)
	case found.application != applicationID:
		return failure(codeSchema, "the file belongs to another program", nil)
	case found.version != schemaVersion:
		return failure(codeSchema, fmt.Sprintf("the file has version %d of the tables and this program supports %d; "+
			"use the program that wrote it, or a newer one", found.version, schemaVersion), nil)
	}
	return nil
}

// make creates the tables, unless another process has just done so.
func (s *Store) make(ctx context.Context, db *sql.DB) error {
	err := s.retry(ctx, func() error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		var version int
		if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil || version == schemaVersion {
			return err
		}
		_, err = tx.ExecContext(ctx, schema+fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d;`,
			applicationID, schemaVersion))
		if err != nil {
			return err
		}
		return tx.Commit()
	})
	return s.explain(ctx, "", err)
}

// retry repeats a call while the file is locked. The wait of SQLite itself would not end with a
// context.
func (s *Store) retry(ctx context.Context, run func() error) error {
	const first, most = time.Millisecond, 25 * time.Millisecond
	deadline := time.Now().Add(s.busy)
	for wait := first; ; wait = min(2*wait, most) {
		err := run()
		if err == nil || code(err) != codeBusy {
			return err
		}
		if time.Now().Add(wait).After(deadline) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// code returns the primary result code of SQLite in an error, -1 if it has none.
func code(err error) int {
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return e.Code() & 0xff
	}
	return -1
}
