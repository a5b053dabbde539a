package postgresstore

import (
	"context"
	_ "embed" // schema.sql
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// schema makes the tables of version 1.
//
//go:embed schema.sql
var schema string

// migrations bring the tables from each version to the next.
var migrations = []string{schema}

// migrating is the key of the advisory lock that a program holds while it changes the tables.
const migrating = 0x746f6f6c77697265 // "toolwire"

// prepare checks the tables, and creates or changes them.
func (s *Store) prepare(ctx context.Context) error {
	var version int
	err := s.retry(ctx, func(by time.Time) error {
		return s.use(ctx, by, func(c *pgx.Conn) (err error) {
			version, err = versionOf(ctx, c)
			return err
		})
	})
	if err == nil && version < len(migrations) {
		err = s.write(ctx, "", func(tx pgx.Tx) (err error) {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrating)); err != nil {
				return err
			}
			if version, err = versionOf(ctx, tx); err != nil { // another program may have been faster
				return err
			}
			for ; version < len(migrations); version++ {
				if _, err := tx.Exec(ctx, migrations[version], pgx.QueryExecModeSimpleProtocol); err != nil {
					return err
				}
			}
			_, err = tx.Exec(ctx, `UPDATE toolwire_catalog SET version = $1`, version)
			return err
		})
	}
	if err != nil {
		return s.explain(ctx, "", err)
	}
	if version > len(migrations) {
		return failure(codeSchema, fmt.Sprintf("the tables have version %d and this program supports %d; use a newer program",
			version, len(migrations)), nil)
	}
	return nil
}

// queryer is a connection or a transaction.
type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// versionOf returns the version of the tables, 0 if there are none. It reads pg_class, because
// to_regclass may answer from a cache that is older than the lock.
func versionOf(ctx context.Context, from queryer) (version int, err error) {
	var is bool
	err = from.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'toolwire_catalog' AND pg_table_is_visible(oid))`).Scan(&is)
	if err != nil || !is {
		return 0, err
	}
	err = from.QueryRow(ctx, `SELECT version FROM toolwire_catalog`).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		err = failure(codeSchema, "the table toolwire_catalog is empty", nil)
	}
	return version, err
}

// lost is an error after which a call can be repeated: there was no connection, it was lost, or the
// server ended the transaction because of others.
type lost struct {
	error
	used bool // there was a connection
}

func (e lost) Unwrap() error { return e.error }

// use runs a function with a connection, which it waits for until by.
func (s *Store) use(ctx context.Context, by time.Time, run func(*pgx.Conn) error) error {
	wait, cancel := context.WithDeadline(ctx, by)
	c, err := s.pool.Acquire(wait)
	late := ctx.Err() == nil && wait.Err() != nil
	cancel()
	if err != nil {
		_, connecting := errors.AsType[*pgconn.ConnectError](err)
		class := state(err, 2)
		if connecting && slices.Contains([]string{"", "08", "53", "57"}, class) || // no server, or a full or starting one
			late && class == "" { // one that does not answer, or connections that are all in use
			return lost{error: err}
		}
		return err
	}
	defer c.Release() // in a transaction it closes the connection, which ends the transaction
	err = run(c.Conn())
	if err != nil && (c.Conn().IsClosed() || state(err, 2) == "40") { // 40: a deadlock
		return lost{err, true}
	}
	return err
}

// state returns the first n characters of the SQLSTATE of an error, "" if it has none.
func state(err error, n int) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && len(pg.Code) == 5 {
		return pg.Code[:n]
	}
	return ""
}

// retry repeats a call while it ends with a lost error. by is the time until which a connection is waited
// for: the timeout after the call began, or after one of the first losses of a connection.
func (s *Store) retry(ctx context.Context, run func(by time.Time) error) error {
	const first, most, losses = time.Millisecond, 100 * time.Millisecond, 5
	by, used := time.Now().Add(s.timeout), 0
	for wait := first; ; wait = min(2*wait, most) {
		err := run(by)
		l, is := err.(lost)
		if l.used && used < losses {
			by, used = time.Now().Add(s.timeout), used+1
		}
		if !is || time.Now().Add(wait).After(by) {
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

// write runs a transaction, again only if it is certain that nothing was written. After a COMMIT
// without an answer nothing tells: pgconn.SafeToRetry may be true although it was sent, and a server
// that crashed may give the id of the transaction to another one.
func (s *Store) write(ctx context.Context, tool string, run func(pgx.Tx) error) error {
	err := s.retry(ctx, func(by time.Time) error {
		committing := false
		err := s.use(ctx, by, func(c *pgx.Conn) error {
			tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
			if err != nil {
				return err
			}
			if err := run(tx); err != nil {
				_ = tx.Rollback(ctx)
				return err
			}
			committing = true
			return tx.Commit(ctx)
		})
		pg, answered := errors.AsType[*pgconn.PgError](err)
		if err == nil || !committing || answered && pg.SeverityUnlocalized == "ERROR" {
			return err
		}
		return failure(codeUnknown,
			"the connection was lost while the write was committed; read the tool to learn whether it was written", s.quiet(err))
	})
	return s.explain(ctx, tool, err)
}
