package catalog

import (
	"context"
	"time"
)

// StoredTool is a tool as a [Store] keeps it: with its account, and with the source of a custom tool in ScriptContent.
type StoredTool struct {
	ListItem

	// DeletedAt is when the tool was deleted; zero if it was not. A store keeps milliseconds at least.
	DeletedAt time.Time
}

// Store keeps the records of a [Handler]. Package catalogtest has a suite that holds an implementation to the following.
//
// Records belong to the account in AccountID and are seen through that account only: an id of another account does not
// exist. Ids and times are the caller's. Of the records that are not deleted, no two of an account have the same name, byte
// for byte; that holds whatever calls run at the same time, in any process. Deleted records keep their id, not their name.
//
// A write that has returned without an error is there to stay, as long as the store promises to. One that returns an error
// may have happened only if the error is that of the context.
//
// Every method honours its context while it waits and returns its error then, possibly wrapped. It returns an [*Error]
// with [CodeNotFound] if there is no such record in the account, and with [CodeConflict] if the id or the name is taken. Any
// other error is a fault of the store; its text is logged by the handler and must not quote records. Values that are passed
// in or out share no memory with the store. Methods are called concurrently.
type Store interface {
	// Create adds a record.
	Create(ctx context.Context, r StoredTool) error

	// Get returns a record, deleted or not.
	Get(ctx context.Context, account, id string) (StoredTool, error)

	// List returns the records of an account that are not deleted, of one type or of all if t is "", in the order of their
	// names, byte by byte. It leaves ScriptContent out.
	List(ctx context.Context, account string, t Type) ([]StoredTool, error)

	// Update changes a record, deleted or not, in one step: no other write of that record comes between what change is
	// given and what it makes of it. An error of change is returned as it is, and nothing is written. change must not call
	// the store, and may be called more than once; a panic of it leaves the store as it was. It cannot change ID and
	// AccountID. Update returns what was written.
	Update(ctx context.Context, account, id string, change func(*StoredTool) error) (StoredTool, error)
}
