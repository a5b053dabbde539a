package catalog

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// MemoryStore is a [Store] that lasts as long as its process. It is safe for concurrent use.
type MemoryStore struct {
	mu      sync.RWMutex
	records map[key]Record
	names   map[key]string // of records that are not deleted: the id under account and name
}

// key is an account, and an id or a name in it.
type key struct{ account, of string }

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{records: map[key]Record{}, names: map[key]string{}}
}

// Create implements [Store].
func (s *MemoryStore) Create(ctx context.Context, r Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, taken := s.records[key{r.AccountID, r.ID}]; taken {
		return &Error{Code: CodeConflict, Tool: r.ID, Message: "there is a record with this id"}
	}
	return s.put(r, nil)
}

// put writes a record in place of old, and holds names to be unique.
func (s *MemoryStore) put(r Record, old *Record) error {
	live := r.DeletedAt.IsZero()
	name := key{r.AccountID, r.Name}
	if id, taken := s.names[name]; live && taken && id != r.ID {
		return &Error{Code: CodeConflict, Tool: cut(r.Name), Message: "there is a tool with this name"}
	}
	if old != nil && old.DeletedAt.IsZero() {
		delete(s.names, key{old.AccountID, old.Name})
	}
	if live {
		s.names[name] = r.ID
	}
	s.records[key{r.AccountID, r.ID}] = r.clone()
	return nil
}

// clone copies what a record shares.
func (r Record) clone() Record {
	r.Tags = slices.Clone(r.Tags)
	return r
}

func (s *MemoryStore) find(ctx context.Context, account, id string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	r, ok := s.records[key{account, id}]
	if !ok {
		return Record{}, &Error{Code: CodeNotFound, Tool: cut(id), Message: "there is no such record"}
	}
	return r.clone(), nil
}

// Get implements [Store].
func (s *MemoryStore) Get(ctx context.Context, account, id string) (Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.find(ctx, account, id)
}

// List implements [Store].
func (s *MemoryStore) List(ctx context.Context, account string, t Type) ([]Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var list []Record
	for _, r := range s.records {
		if r.AccountID == account && r.DeletedAt.IsZero() && (t == "" || r.Type == t) {
			r.ScriptContent = ""
			list = append(list, r.clone())
		}
	}
	slices.SortFunc(list, func(a, b Record) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Update implements [Store].
func (s *MemoryStore) Update(ctx context.Context, account, id string, change func(*Record) error) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.find(ctx, account, id)
	if err != nil {
		return Record{}, err
	}
	r := old.clone()
	if err := change(&r); err != nil {
		return Record{}, err
	}
	r.ID, r.AccountID = old.ID, old.AccountID
	if err := s.put(r, &old); err != nil {
		return Record{}, err
	}
	return r.clone(), nil
}
