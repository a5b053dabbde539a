// Package postgresstore keeps a tool catalog in a Postgres database: a [catalog.Store] for handlers
// on several machines.
//
//	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
//	if err != nil {
//		return err
//	}
//	defer pool.Close()
//	store, err := postgresstore.Open(ctx, pool)
//	if err != nil {
//		return err
//	}
//	handler, err := catalog.NewHandler(store, &catalog.HandlerOptions{Authenticate: authenticate})
//
// The package is a module of its own. It uses github.com/jackc/pgx/v5 and needs Postgres 11 or later.
// Every error is a [*toolwire.Error], except for the error of a context that ended. It contains nothing
// of a stored tool and no password. A Store is safe for concurrent use.
//
// This package is experimental, as the README explains.
//
// # Codes of errors
//
// Errors have the codes not_found and conflict of [catalog.Store], invalid_options, transport if the
// database could not be reached and nothing was written, and these:
//
//	schema   the tables are missing, of another program, or of a newer version of this package
//	unknown  the connection was lost during a commit: the write may have happened
//	failed   anything else that Postgres reports, such as a missing right or a full disk
package postgresstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// Store is a [catalog.Store] in the tables toolwire_tools and toolwire_catalog. A write that returned
// nil is committed; synchronous_commit of the server decides what it survives. If the connection is
// lost, a call tries again unless it may have written something. If the connection is lost during a
// commit, the error has the code unknown.
//
// A call waits for a connection and tries again for 500 ms, from its beginning and again from the loss of
// a connection. Then the error has the code transport, and the handler of [catalog.NewHandler] answers
// 503. A context may end it earlier.
type Store struct {
	pool    *pgxpool.Pool
	timeout time.Duration
	secrets *redact.Set
}

var _ catalog.Store = (*Store)(nil)

// Open makes a store in the database of a pool. The first call creates the tables in the current
// schema, which is the first of the search_path; several programs may call it at the same time.
// Once the tables exist, the role needs the rights to SELECT, INSERT and UPDATE only. Open tries again for
// 5 s. The store does not close the pool.
func Open(ctx context.Context, pool *pgxpool.Pool) (*Store, error) {
	return open(ctx, pool, 500*time.Millisecond)
}

// open is Open with another time in which a call tries again.
func open(ctx context.Context, pool *pgxpool.Pool, retry time.Duration) (*Store, error) {
	s := &Store{pool: pool}
	if pool == nil {
		return nil, failure(toolwire.CodeInvalidOptions, "a pool is required", nil)
	}
	s.secrets = redact.New(pool.Config().ConnConfig.Password)
	s.timeout = max(retry, 5*time.Second)
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	s.timeout = retry
	return s, nil
}

// The columns of a tool are these, source, tags and deleted_at.
const columns = `account, id, name, framework, type, description, version, class_name, module_name`

// texts returns the fields of these columns and of source.
func texts(r *catalog.StoredTool) []*string {
	return []*string{&r.AccountID, &r.ID, &r.Name, (*string)(&r.Framework), (*string)(&r.Type), &r.Description, &r.Version,
		&r.PluginClassName, &r.ModuleName, &r.ScriptContent}
}

// text scans a column of type bytea.
type text string

func (t *text) ScanBytes(b []byte) error { *t = text(b); return nil }

// row returns the values of the columns.
func row(r *catalog.StoredTool) ([]any, error) {
	var values []any
	for _, t := range texts(r) {
		values = append(values, []byte(*t))
	}
	tags, err := json.Marshal(r.Tags) // "null" for nil, which avoids NULL
	if err != nil {
		return nil, err // does not happen with strings
	}
	var deleted *time.Time
	if !r.DeletedAt.IsZero() {
		deleted = &r.DeletedAt
	}
	return append(values, tags, deleted), nil
}

// scan is the inverse of row.
func scan(from pgx.Row) (r catalog.StoredTool, err error) {
	var into []any
	for _, t := range texts(&r) {
		into = append(into, (*text)(t))
	}
	var tags []byte
	var deleted *time.Time
	if err := from.Scan(append(into, &tags, &deleted)...); err != nil {
		return catalog.StoredTool{}, err
	}
	if err := json.Unmarshal(tags, &r.Tags); err != nil {
		return catalog.StoredTool{}, fmt.Errorf("the tags of a record cannot be read: %w", err)
	}
	if deleted != nil {
		r.DeletedAt = deleted.UTC()
	}
	return r, nil
}

// Create implements [catalog.Store].
func (s *Store) Create(ctx context.Context, r catalog.StoredTool) error {
	values, err := row(&r)
	if err != nil {
		return err
	}
	return s.write(ctx, r.Name, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO toolwire_tools (`+columns+`, source, tags, deleted_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`, values...)
		return err
	})
}

// Get implements [catalog.Store].
func (s *Store) Get(ctx context.Context, account, id string) (r catalog.StoredTool, err error) {
	err = s.retry(ctx, func(by time.Time) error {
		return s.use(ctx, by, func(c *pgx.Conn) error {
			r, err = found(c.QueryRow(ctx, `SELECT `+columns+`, source, tags, deleted_at FROM toolwire_tools
				WHERE account = $1 AND id = $2`, []byte(account), []byte(id)))
			return err
		})
	})
	return r, s.explain(ctx, "", err)
}

// found scans one tool.
func found(from pgx.Row) (catalog.StoredTool, error) {
	r, err := scan(from)
	if errors.Is(err, pgx.ErrNoRows) {
		err = &toolwire.Error{Package: "postgresstore", Code: toolwire.CodeNotFound, Message: "the account has no tool with this id"}
	}
	return r, err
}

// List implements [catalog.Store].
func (s *Store) List(ctx context.Context, account string, t catalog.Type) (list []catalog.StoredTool, err error) {
	err = s.retry(ctx, func(by time.Time) error {
		return s.use(ctx, by, func(c *pgx.Conn) error {
			rows, err := c.Query(ctx, `SELECT `+columns+`, ''::bytea, tags, deleted_at FROM toolwire_tools
				WHERE account = $1 AND deleted_at IS NULL AND ($2 = ''::bytea OR type = $2) ORDER BY name`, []byte(account), []byte(t))
			if err != nil {
				return err
			}
			list, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (catalog.StoredTool, error) { return scan(r) })
			return err
		})
	})
	return list, s.explain(ctx, "", err)
}

// Update implements [catalog.Store].
func (s *Store) Update(
	ctx context.Context, account, id string, change func(*catalog.StoredTool) error,
) (r catalog.StoredTool, err error) {
	var refused error // by change
	err = s.write(ctx, id, func(tx pgx.Tx) error {
		r, err = found(tx.QueryRow(ctx, `SELECT `+columns+`, source, tags, deleted_at FROM toolwire_tools
			WHERE account = $1 AND id = $2 FOR UPDATE`, []byte(account), []byte(id)))
		if err != nil {
			return err
		}
		key := r
		if refused = change(&r); refused != nil {
			return refused
		}
		r.ID, r.AccountID = key.ID, key.AccountID
		values, err := row(&r)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE toolwire_tools SET name = $3, framework = $4, type = $5, description = $6, version = $7,
			class_name = $8, module_name = $9, source = $10, tags = $11, deleted_at = $12
			WHERE account = $1 AND id = $2`, values...)
		return err
	})
	if err = cmp.Or(refused, err); err != nil {
		return catalog.StoredTool{}, err
	}
	return r, nil
}
