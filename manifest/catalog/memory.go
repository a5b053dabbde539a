package catalog

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/redact"
)

// memoryStore is a [Store] in memory.
type memoryStore struct {
	mu       sync.RWMutex
	accounts redact.Hidden[map[string]*shelf]
}

// shelf contains the tools of one account.
type shelf struct {
	records map[string]StoredTool // tools by id
	names   map[string]string     // ids by name, of the tools that are not deleted
}

// NewMemoryStore returns an empty store that keeps its records until the process ends. It is safe
// for concurrent use.
func NewMemoryStore() Store { return &memoryStore{accounts: redact.Hide(map[string]*shelf{})} }

// Create implements [Store].
func (s *memoryStore) Create(ctx context.Context, r StoredTool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	in := s.accounts.Reveal()[r.AccountID]
	if in == nil {
		in = &shelf{records: map[string]StoredTool{}, names: map[string]string{}}
		s.accounts.Reveal()[r.AccountID] = in
	}
	if _, taken := in.records[r.ID]; taken {
		return &Error{Code: CodeConflict, Tool: bounded.Cut(r.ID, maxShown), Message: "a tool with this id exists"}
	}
	return in.put(r, nil)
}

// put writes a tool in place of old. It rejects a name that another tool has.
func (in *shelf) put(r StoredTool, old *StoredTool) error {
	live := r.DeletedAt.IsZero()
	if id, taken := in.names[r.Name]; live && taken && id != r.ID {
		return &Error{Code: CodeConflict, Tool: bounded.Cut(r.Name, maxShown), Message: "a tool with this name exists"}
	}
	if old != nil && old.DeletedAt.IsZero() {
		delete(in.names, old.Name)
	}
	if live {
		in.names[r.Name] = r.ID
	}
	in.records[r.ID] = r.clone()
	return nil
}

// clone returns a copy that shares no memory with r.
func (r StoredTool) clone() StoredTool {
	r.Tags = slices.Clone(r.Tags)
	return r
}

func (s *memoryStore) find(ctx context.Context, account, id string) (*shelf, StoredTool, error) {
	if err := ctx.Err(); err != nil {
		return nil, StoredTool{}, err
	}
	if in := s.accounts.Reveal()[account]; in != nil {
		if r, ok := in.records[id]; ok {
			return in, r.clone(), nil
		}
	}
	return nil, StoredTool{}, &Error{Code: CodeNotFound, Tool: bounded.Cut(id, maxShown),
		Message: "the account has no tool with this id"}
}

// Get implements [Store].
func (s *memoryStore) Get(ctx context.Context, account, id string) (StoredTool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, r, err := s.find(ctx, account, id)
	return r, err
}

// List implements [Store].
func (s *memoryStore) List(ctx context.Context, account string, t Type) ([]StoredTool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in := s.accounts.Reveal()[account]
	if in == nil {
		return nil, nil
	}
	var list []StoredTool
	for _, r := range in.records {
		if r.DeletedAt.IsZero() && (t == "" || r.Type == t) {
			r.ScriptContent = ""
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
	in, old, err := s.find(ctx, account, id)
	if err != nil {
		return StoredTool{}, err
	}
	r := old.clone()
	if err := change(&r); err != nil {
		return StoredTool{}, err
	}
	r.ID, r.AccountID = old.ID, old.AccountID
	if err := in.put(r, &old); err != nil {
		return StoredTool{}, err
	}
	return r.clone(), nil
}
