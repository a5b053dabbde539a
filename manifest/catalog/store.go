package catalog

import (
	"context"
	"time"
)

// StoredTool is a tool as a [Store] keeps it: with its account in AccountID and the source of a
// custom tool in ScriptContent.
type StoredTool struct {
	ListItem

	// DeletedAt is the time of the deletion. If it is zero, the tool is not deleted. A store keeps
	// at least milliseconds.
	DeletedAt time.Time
}

// Store keeps the tools of a [Handler]. Package catalogtest tests an implementation against this
// contract.
//
// A tool belongs to the account in AccountID. Other accounts do not find its id. The caller chooses
// ids and times. Two tools of an account have different names, compared byte by byte, unless one is
// deleted. That holds for concurrent calls too, including calls of other processes. A deleted tool
// keeps its id but not its name.
//
// A write that returned nil lasts as long as the store promises. A write that returned an error did
// not happen, with two exceptions. They are the error of the context, and an error by which a store
// reports that the write may have happened.
//
// Every method returns the error of its context, possibly wrapped, when the context ends while it
// waits. If the account has no such tool, the method returns an [*Error] with [CodeNotFound]; if
// the id or the name is taken, one with [CodeConflict]. Any other error is a failure of the store.
// The handler logs its text, which must not quote tools. Arguments and results share no memory with
// the store. Methods are called concurrently.
type Store interface {
	// Create adds a tool.
	Create(ctx context.Context, r StoredTool) error

	// Get returns a tool, deleted or not.
	Get(ctx context.Context, account, id string) (StoredTool, error)

	// List returns the tools of an account that are not deleted, ordered by name, byte by byte. If
	// t is not "", it returns only tools of that type. The results have no ScriptContent.
	List(ctx context.Context, account string, t Type) ([]StoredTool, error)

	// Update changes a tool, deleted or not, atomically: no other write of the tool happens between
	// the call of change and the write of its result. If change returns an error, Update returns
	// that error and writes nothing. change must not call the store and may be called more than
	// once. If it panics, the store does not change. It cannot change ID and AccountID. Update
	// returns what it wrote.
	Update(ctx context.Context, account, id string, change func(*StoredTool) error) (StoredTool, error)
}
