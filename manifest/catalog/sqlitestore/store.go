// Package sqlitestore keeps a tool catalog in a SQLite file: a [catalog.Store] that survives its
// process and that several processes can share.
//
//	store, err := sqlitestore.Open(ctx, "catalog.db")
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	handler, err := catalog.NewHandler(store, &catalog.HandlerOptions{Authenticate: authenticate})
//
// The package is a module of its own. It uses modernc.org/sqlite, which needs no C compiler. Every
// error is a [*toolwire.Error], except for the error of a context that ended. It contains nothing of a
// stored tool. A Store is safe for concurrent use.
//
// This package is experimental, as the README explains.
//
// # Codes of errors
//
// Errors have the codes not_found and conflict of [catalog.Store], and these:
//
//	open    the file or its folder is missing, not writable, or not on a local disk
//	schema  another program, or another version of this package, wrote the file
//	busy    another process wrote for longer than 5 s
//	failed  anything else that SQLite reports, such as a full disk
package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// Store is a [catalog.Store] in one file. The file is in WAL mode with synchronous=FULL. So a write
// that returned nil survives a crash of the process. It survives a crash of the machine if the disk
// keeps what it has acknowledged. The file must be on a local disk. A Store is safe for concurrent
// use. Several Stores may use one file, in this and in other processes of the machine. A call waits for
// at most 5 s while another process writes; its context may end the wait earlier.
type Store struct {
	db      *sql.DB
	busy    time.Duration
	writing chan struct{} // full while a write of this store runs
}

var _ catalog.Store = (*Store)(nil)

// Open opens a file. If the file does not exist, Open creates it with the mode 0600, which Windows
// ignores; the folder must exist. Open does not change a file of another program or of a newer version
// of this package.
func Open(ctx context.Context, path string) (*Store, error) { return open(ctx, path, 5*time.Second) }

// open is Open with another time that a call waits while another process writes.
func open(ctx context.Context, path string, busy time.Duration) (*Store, error) {
	s := &Store{writing: make(chan struct{}, 1), busy: busy}
	if err := s.open(ctx, path); err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes the file. It waits for calls that are running; later calls fail.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return failure(codeFailed, "the file could not be closed", err)
	}
	return nil
}

// columns are the columns of a tool, without the source, which may be long.
const columns = `account, id, name, framework, type, description, tags, version, class_name, module_name, deleted_at`

// Create implements [catalog.Store].
func (s *Store) Create(ctx context.Context, r catalog.StoredTool) error {
	values, err := row(r)
	if err != nil {
		return err
	}
	return s.write(ctx, r.Name, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO tools (`+columns+`, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			values...)
		return err
	})
}

// Get implements [catalog.Store].
func (s *Store) Get(ctx context.Context, account, id string) (r catalog.StoredTool, err error) {
	err = s.retry(ctx, func() error {
		r, err = get(ctx, s.db, account, id)
		return err
	})
	return r, s.explain(ctx, "", err)
}

// queryer is a database or a transaction.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func get(ctx context.Context, from queryer, account, id string) (catalog.StoredTool, error) {
	r, err := scan(from.QueryRowContext(ctx, `SELECT `+columns+`, source FROM tools WHERE account = ? AND id = ?`,
		account, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = &toolwire.Error{Package: "sqlitestore", Code: toolwire.CodeNotFound, Message: "the account has no tool with this id"}
	}
	return r, err
}

// List implements [catalog.Store].
func (s *Store) List(ctx context.Context, account string, t catalog.Type) (list []catalog.StoredTool, err error) {
	err = s.retry(ctx, func() error {
		list, err = s.list(ctx, account, t)
		return err
	})
	return list, s.explain(ctx, "", err)
}

func (s *Store) list(ctx context.Context, account string, t catalog.Type) (list []catalog.StoredTool, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT `+columns+`, '' FROM tools
		WHERE account = ? AND deleted_at IS NULL AND (? = '' OR type = ?) ORDER BY name`, account, string(t), string(t))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// Update implements [catalog.Store].
func (s *Store) Update(
	ctx context.Context, account, id string, change func(*catalog.StoredTool) error,
) (r catalog.StoredTool, err error) {
	var refused error // by change
	err = s.write(ctx, id, func(tx *sql.Tx) error {
		if r, err = get(ctx, tx, account, id); err != nil {
			return err
		}
		key := r
		if refused = change(&r); refused != nil {
			return refused
		}
		r.ID, r.AccountID = key.ID, key.AccountID
		values, err := row(r)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE tools SET name = ?3, framework = ?4, type = ?5, description = ?6, tags = ?7, version = ?8,
			class_name = ?9, module_name = ?10, deleted_at = ?11, source = ?12 WHERE account = ?1 AND id = ?2`, values...)
		return err
	})
	if err = cmp.Or(refused, err); err != nil {
		return catalog.StoredTool{}, err
	}
	return r, nil
}

// row returns the values of the columns.
func row(r catalog.StoredTool) ([]any, error) {
	tags, err := json.Marshal(r.Tags) // "null" for nil, which avoids NULL
	if err != nil {
		return nil, err // does not happen with strings
	}
	var deleted any
	if !r.DeletedAt.IsZero() {
		deleted = r.DeletedAt.UnixMicro()
	}
	return []any{r.AccountID, r.ID, r.Name, string(r.Framework), string(r.Type), r.Description, string(tags), r.Version,
		r.PluginClassName, r.ModuleName, deleted, r.ScriptContent}, nil
}

// scan is the inverse of row.
func scan(from interface{ Scan(...any) error }) (catalog.StoredTool, error) {
	var r catalog.StoredTool
	var tags string
	var deleted sql.NullInt64
	err := from.Scan(&r.AccountID, &r.ID, &r.Name, &r.Framework, &r.Type, &r.Description, &tags, &r.Version,
		&r.PluginClassName, &r.ModuleName, &deleted, &r.ScriptContent)
	if err != nil {
		return catalog.StoredTool{}, err
	}
	if err := json.Unmarshal([]byte(tags), &r.Tags); err != nil {
		return catalog.StoredTool{}, fmt.Errorf("the tags of a record cannot be read: %w", err)
	}
	if deleted.Valid {
		r.DeletedAt = time.UnixMicro(deleted.Int64).UTC()
	}
	return r, nil
}

// write runs a transaction that holds the write lock of the file from its beginning.
func (s *Store) write(ctx context.Context, tool string, run func(*sql.Tx) error) error {
	select {
	case s.writing <- struct{}{}: // goroutines queue here, in order; only processes poll
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return s.explain(ctx, tool, ctx.Err())
	}
	var tx *sql.Tx
	err := s.retry(ctx, func() (err error) {
		tx, err = s.db.BeginTx(ctx, nil)
		return err
	})
	if err != nil {
		return s.explain(ctx, tool, err)
	}
	defer func() { _ = tx.Rollback() }() // no effect after a commit
	if err := run(tx); err != nil {
		return s.explain(ctx, tool, err)
	}
	return s.explain(ctx, tool, tx.Commit())
}
