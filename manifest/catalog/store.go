package catalog

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
)

// StoredTool is a tool as a [Store] keeps it: with its account in AccountID and the source of a
// custom tool in ScriptContent. Formatting and logging it shows its ListItem.
type StoredTool struct {
	ListItem

	// DeletedAt is the time of the deletion. If it is zero, the tool is not deleted. A store keeps
	// it to the millisecond or more exactly.
	DeletedAt time.Time
}

// Store keeps the tools of a handler. Package catalogtest tests an implementation against this
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
// waits. If the account has no such tool, the method returns a [*toolwire.Error] with [toolwire.CodeNotFound]; if
// the id or the name is taken, one with [toolwire.CodeConflict]; if it cannot reach its data and has written
// nothing, one with [toolwire.CodeTransport] or the code busy. Any other error is a failure of the store.
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

// memoryStore is a [Store] in memory.
type memoryStore struct {
	mu    sync.RWMutex
	tools map[key]record // by account and id
	names map[key]string // ids by account and name, of the tools that are not deleted
}

// record is a tool in memory. Its source may contain its author's secrets.
type record struct {
	StoredTool // without ScriptContent
	script     redact.Hidden[string]
}

type key struct{ account, text string }

// NewMemoryStore returns an empty store that keeps its records until the process ends. It is safe
// for concurrent use.
func NewMemoryStore() Store {
	return &memoryStore{tools: map[key]record{}, names: map[key]string{}}
}

// Create implements [Store].
func (s *memoryStore) Create(ctx context.Context, r StoredTool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, taken := s.tools[key{r.AccountID, r.ID}]; taken {
		return &toolwire.Error{Package: "catalog", Code: toolwire.CodeConflict, Tool: text.Cut(r.ID, maxShown), Message: "a tool with this id exists"}
	}
	return s.put(r, "")
}

// put writes a tool, which had another name before. It rejects a name that another tool has.
func (s *memoryStore) put(r StoredTool, before string) error {
	name, live := key{r.AccountID, r.Name}, r.DeletedAt.IsZero()
	if id, taken := s.names[name]; live && taken && id != r.ID {
		return &toolwire.Error{Package: "catalog", Code: toolwire.CodeConflict, Tool: text.Cut(r.Name, maxShown), Message: "a tool with this name exists"}
	}
	if old := (key{r.AccountID, before}); s.names[old] == r.ID {
		delete(s.names, old)
	}
	if live {
		s.names[name] = r.ID
	}
	kept := record{r.clone(), redact.Hide(r.ScriptContent)}
	kept.ScriptContent = ""
	s.tools[key{r.AccountID, r.ID}] = kept
	return nil
}

// clone returns a copy that shares no memory with r.
func (r StoredTool) clone() StoredTool {
	r.Tags = slices.Clone(r.Tags)
	return r
}

// find must be called with s.mu held.
func (s *memoryStore) find(ctx context.Context, account, id string) (StoredTool, error) {
	if err := ctx.Err(); err != nil {
		return StoredTool{}, err
	}
	kept, ok := s.tools[key{account, id}]
	if !ok {
		return StoredTool{}, &toolwire.Error{Package: "catalog", Code: toolwire.CodeNotFound, Tool: text.Cut(id, maxShown),
			Message: "the account has no tool with this id"}
	}
	r := kept.clone()
	r.ScriptContent = kept.script.Reveal()
	return r, nil
}

// Get implements [Store].
func (s *memoryStore) Get(ctx context.Context, account, id string) (StoredTool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.find(ctx, account, id)
}

// List implements [Store].
func (s *memoryStore) List(ctx context.Context, account string, t Type) ([]StoredTool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var list []StoredTool
	for k, r := range s.tools {
		if k.account == account && r.DeletedAt.IsZero() && (t == "" || r.Type == t) {
			list = append(list, r.clone())
		}
	}
	slices.SortFunc(list, func(a, b StoredTool) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Update implements [Store].
func (s *memoryStore) Update(
	ctx context.Context, account, id string, change func(*StoredTool) error,
) (StoredTool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.find(ctx, account, id)
	if err != nil {
		return StoredTool{}, err
	}
	r := old.clone()
	if err := change(&r); err != nil {
		return StoredTool{}, err
	}
	r.ID, r.AccountID = old.ID, old.AccountID
	if err := s.put(r, old.Name); err != nil {
		return StoredTool{}, err
	}
	return r.clone(), nil
}
