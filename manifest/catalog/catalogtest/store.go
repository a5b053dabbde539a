// Package catalogtest tests an implementation of [catalog.Store] against the contract of the
// interface. [TestStore] runs one subtest per rule:
//
//	func TestMyStore(t *testing.T) {
//		catalogtest.TestStore(t, func(t *testing.T) catalog.Store {
//			return mystore.Open(t.TempDir())
//		})
//	}
//
// Some subtests call the store concurrently, because a Store must be safe for concurrent use.
//
// This package is experimental, as the README explains.
package catalogtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// Two accounts.
const (
	account = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
	another = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
)

// deletion has the precision that a store must keep, and a time zone that most machines do not
// have.
var deletion = time.Date(2026, 3, 4, 5, 6, 7, int(89*time.Millisecond), time.FixedZone("", 3600))

// TestStore tests a store against the contract of [catalog.Store], one subtest per rule. Every call
// of open returns an empty store; open may close it with t.Cleanup. The suite does not sleep and
// does not depend on a clock.
func TestStore(t *testing.T, open func(t *testing.T) catalog.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, catalog.Store)
	}{
		{"keeps every field", testFields},
		{"an unknown id is not found", testUnknown},
		{"accounts do not see each other", testAccounts},
		{"an id is taken once", testIDs},
		{"a live name is taken once", testNames},
		{"a deleted record keeps its id and not its name", testDeletion},
		{"lists by name and type, without sources", testList},
		{"a change that fails writes nothing", testFailedChange},
		{"a change that panics writes nothing", testPanic},
		{"a change cannot move a record", testIdentity},
		{"values are the caller's own", testSharing},
		{"an ended context ends every call", testContext},
		{"fifty create one name", testRacingCreate},
		{"fifty rename to one name", testRacingRename},
		{"fifty restore to one name", testRacingRestore},
		{"no update is lost", testRacingUpdate},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// id returns the nth id.
func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// record returns the nth tool, with every field set.
func record(n int, name string) catalog.StoredTool {
	return catalog.StoredTool{ListItem: catalog.ListItem{
		ID: id(n),
		Tool: catalog.Tool{Name: name, Framework: catalog.LangGraph, Type: catalog.Custom, AccountID: account,
			Description: "Zählt „Bücher“ <&> \u2028\x00\n", Tags: []string{"a", "", "b,c"}, Version: "2.1.0"},
		PluginClassName: "Counter", ModuleName: "counter", ScriptContent: "class Counter(BaseTool):\r\n\tpass # ☃\n",
	}}
}

func create(t *testing.T, s catalog.Store, r catalog.StoredTool) {
	t.Helper()
	if err := s.Create(t.Context(), r); err != nil {
		t.Fatalf("Create: %v", err)
	}
}

func get(t *testing.T, s catalog.Store, id string) catalog.StoredTool {
	t.Helper()
	r, err := s.Get(t.Context(), account, id)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return r
}

func update(t *testing.T, s catalog.Store, id string, change func(*catalog.StoredTool)) catalog.StoredTool {
	t.Helper()
	r, err := s.Update(t.Context(), account, id, func(r *catalog.StoredTool) error { change(r); return nil })
	if err != nil {
		t.Fatalf("Update: %v", err)
	}
	return r
}

// same compares tools. Times are equal if they are the same instant.
func same(t *testing.T, what string, got, want catalog.StoredTool) {
	t.Helper()
	if !got.DeletedAt.Equal(want.DeletedAt) {
		t.Errorf("%s: DeletedAt is %v, want %v", what, got.DeletedAt, want.DeletedAt)
	}
	got.DeletedAt = want.DeletedAt
	if len(got.Tags) == 0 && len(want.Tags) == 0 {
		got.Tags = want.Tags
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is\n\t%+v, want\n\t%+v", what, got, want)
	}
}

func wantCode(t *testing.T, what string, err error, code toolwire.Code) {
	t.Helper()
	if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Code != code {
		t.Errorf("%s: the error is %v, want an *Error with code %s", what, err, code)
	}
}

func testFields(t *testing.T, s catalog.Store) {
	full := record(1, "full")
	create(t, s, full)
	same(t, "a full record", get(t, s, id(1)), full)

	bare := catalog.StoredTool{ListItem: catalog.ListItem{ID: id(2), Tool: catalog.Tool{Name: "bare", AccountID: account}}}
	create(t, s, bare)
	same(t, "a bare record", get(t, s, id(2)), bare)

	changed := record(1, "changed")
	changed.Framework, changed.Type, changed.Description, changed.Tags = catalog.GoogleADK, catalog.Native, "", nil
	changed.Version, changed.PluginClassName, changed.ModuleName, changed.ScriptContent = "3", "", "m", "pass"
	changed.DeletedAt = deletion
	written := update(t, s, id(1), func(r *catalog.StoredTool) { *r = changed })
	same(t, "what Update returns", written, changed)
	same(t, "what Update wrote", get(t, s, id(1)), changed)
}

func testUnknown(t *testing.T, s catalog.Store) {
	_, err := s.Get(t.Context(), account, id(1))
	wantCode(t, "Get", err, toolwire.CodeNotFound)
	_, err = s.Update(t.Context(), account, id(1), func(*catalog.StoredTool) error {
		t.Error("Update called change without a tool")
		return nil
	})
	wantCode(t, "Update", err, toolwire.CodeNotFound)
	list, err := s.List(t.Context(), account, "")
	if len(list) != 0 || err != nil {
		t.Errorf("List of nothing is %v, %v", list, err)
	}
}

func testAccounts(t *testing.T, s catalog.Store) {
	create(t, s, record(1, "mine"))
	theirs := record(2, "mine") // the same name in another account
	theirs.AccountID = another
	create(t, s, theirs)

	_, err := s.Get(t.Context(), another, id(1))
	wantCode(t, "Get with another account", err, toolwire.CodeNotFound)
	_, err = s.Update(t.Context(), another, id(1), func(*catalog.StoredTool) error { return nil })
	wantCode(t, "Update with another account", err, toolwire.CodeNotFound)
	list, err := s.List(t.Context(), another, "")
	if err != nil || len(list) != 1 || list[0].ID != id(2) {
		t.Errorf("List of another account is %v, %v; want its own record", list, err)
	}
}

func testIDs(t *testing.T, s catalog.Store) {
	create(t, s, record(1, "first"))
	wantCode(t, "Create with an id that is taken", s.Create(t.Context(), record(1, "second")), toolwire.CodeConflict)
	same(t, "the record that was there", get(t, s, id(1)), record(1, "first"))
}

func testNames(t *testing.T, s catalog.Store) {
	create(t, s, record(1, "name"))
	wantCode(t, "Create with a name that is taken", s.Create(t.Context(), record(2, "name")), toolwire.CodeConflict)
	_, err := s.Get(t.Context(), account, id(2))
	wantCode(t, "Get of what was not created", err, toolwire.CodeNotFound)
	for n, name := range []string{"Name", "name ", "námé", "na\u0301me"} { // names differ byte by byte
		create(t, s, record(10+n, name))
	}

	create(t, s, record(3, "other"))
	_, err = s.Update(t.Context(), account, id(3), func(r *catalog.StoredTool) error { r.Name = "name"; return nil })
	wantCode(t, "Update to a name that is taken", err, toolwire.CodeConflict)
	same(t, "the record that could not be renamed", get(t, s, id(3)), record(3, "other"))

	update(t, s, id(1), func(r *catalog.StoredTool) { r.Version = "9" }) // its own name does not conflict
	update(t, s, id(1), func(r *catalog.StoredTool) { r.Name = "renamed" })
	create(t, s, record(4, "name")) // the name is free again
}

func testDeletion(t *testing.T, s catalog.Store) {
	create(t, s, record(1, "name"))
	update(t, s, id(1), func(r *catalog.StoredTool) { r.DeletedAt = deletion })
	if r := get(t, s, id(1)); !r.DeletedAt.Equal(deletion) {
		t.Errorf("DeletedAt is %v, want %v", r.DeletedAt, deletion)
	}
	if list, err := s.List(t.Context(), account, ""); err != nil || len(list) != 0 {
		t.Errorf("List with a deleted record is %v, %v", list, err)
	}
	wantCode(t, "Create with a deleted record's id", s.Create(t.Context(), record(1, "else")), toolwire.CodeConflict)

	create(t, s, record(2, "name"))
	update(t, s, id(1), func(r *catalog.StoredTool) { r.Version = "9" }) // still deleted: no conflict
	_, err := s.Update(t.Context(), account, id(1), func(r *catalog.StoredTool) error {
		r.DeletedAt = time.Time{}
		return nil
	})
	wantCode(t, "restoring to a name that is taken", err, toolwire.CodeConflict)
	if r := get(t, s, id(1)); r.DeletedAt.IsZero() {
		t.Error("a failed restoration restored the tool")
	}

	update(t, s, id(2), func(r *catalog.StoredTool) { r.DeletedAt = deletion })
	update(t, s, id(1), func(r *catalog.StoredTool) { r.DeletedAt = time.Time{} })
	wantCode(t, "Create with a restored record's name", s.Create(t.Context(), record(3, "name")), toolwire.CodeConflict)
}

func testList(t *testing.T, s catalog.Store) {
	for n, name := range []string{"b", "Z", "a-2", "é", "a", "a_1"} {
		r := record(n, name)
		if n%2 == 0 {
			r.Type = catalog.Native
		}
		create(t, s, r)
	}
	for _, test := range []struct {
		of   catalog.Type
		want []string
	}{
		{"", []string{"Z", "a", "a-2", "a_1", "b", "é"}},
		{catalog.Native, []string{"a", "a-2", "b"}},
		{catalog.Custom, []string{"Z", "a_1", "é"}},
	} {
		list, err := s.List(t.Context(), account, test.of)
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		var names []string
		for _, r := range list {
			names = append(names, r.Name)
			want := get(t, s, r.ID)
			want.ScriptContent = ""
			same(t, "a listed record", r, want)
		}
		if !slices.Equal(names, test.want) {
			t.Errorf("List of type %q is %q, want %q", test.of, names, test.want)
		}
	}
}

func testFailedChange(t *testing.T, s catalog.Store) {
	create(t, s, record(1, "name"))
	failure := errors.New("no")
	_, err := s.Update(t.Context(), account, id(1), func(r *catalog.StoredTool) error {
		r.Name = "changed"
		r.Tags[0] = "changed"
		return failure
	})
	if err != failure {
		t.Errorf("the error is %v, want the error of change", err)
	}
	same(t, "the record", get(t, s, id(1)), record(1, "name"))
}

func testPanic(t *testing.T, s catalog.Store) {
	create(t, s, record(1, "name"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach the caller")
			}
		}()
		_, _ = s.Update(t.Context(), account, id(1), func(r *catalog.StoredTool) error {
			r.Name = "changed"
			panic("change")
		})
	}()
	same(t, "the record", get(t, s, id(1)), record(1, "name")) // and the store is not locked
	update(t, s, id(1), func(r *catalog.StoredTool) { r.Version = "9" })
}

func testIdentity(t *testing.T, s catalog.Store) {
	create(t, s, record(1, "name"))
	written := update(t, s, id(1), func(r *catalog.StoredTool) { r.ID, r.AccountID = id(2), another })
	same(t, "what Update returns", written, record(1, "name"))
	same(t, "the record", get(t, s, id(1)), record(1, "name"))
}

func testSharing(t *testing.T, s catalog.Store) {
	in := record(1, "name")
	create(t, s, in)
	in.Tags[0] = "changed"
	get(t, s, id(1)).Tags[0] = "changed"
	list, err := s.List(t.Context(), account, "")
	if err != nil || len(list) != 1 {
		t.Fatalf("List is %v, %v", list, err)
	}
	list[0].Tags[0] = "changed"
	var kept *catalog.StoredTool
	written := update(t, s, id(1), func(r *catalog.StoredTool) { kept = r })
	written.Tags[0] = "changed"
	kept.Tags[0] = "changed"
	same(t, "the record", get(t, s, id(1)), record(1, "name"))
}

func testContext(t *testing.T, s catalog.Store) {
	create(t, s, record(1, "name"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, errGet := s.Get(ctx, account, id(1))
	_, errList := s.List(ctx, account, "")
	_, errUpdate := s.Update(ctx, account, id(1), func(r *catalog.StoredTool) error { r.Version = "9"; return nil })
	for method, err := range map[string]error{
		"Create": s.Create(ctx, record(2, "other")), "Get": errGet, "List": errList, "Update": errUpdate,
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a canceled context: %v", method, err)
		}
	}
	same(t, "the record", get(t, s, id(1)), record(1, "name"))
}

const crowd = 50

// race runs crowd functions at the same time. One must succeed and the others must meet a conflict.
func race(t *testing.T, run func(n int) error) {
	t.Helper()
	errs := make([]error, crowd)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for n := range crowd {
		wg.Go(func() {
			<-start
			errs[n] = run(n)
		})
	}
	close(start)
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantCode(t, "a loser", err, toolwire.CodeConflict)
	}
	if won != 1 {
		t.Errorf("%d of %d succeeded, want 1", won, crowd)
	}
}

// wantOne checks that one tool that is not deleted has the name.
func wantOne(t *testing.T, s catalog.Store, name string) {
	t.Helper()
	list, err := s.List(t.Context(), account, "")
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	n := 0
	for _, r := range list {
		if r.Name == name {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d tools have the name, want 1", n)
	}
}

func testRacingCreate(t *testing.T, s catalog.Store) {
	race(t, func(n int) error { return s.Create(t.Context(), record(n, "name")) })
	wantOne(t, s, "name")
}

func testRacingRename(t *testing.T, s catalog.Store) {
	for n := range crowd {
		create(t, s, record(n, fmt.Sprint("name-", n)))
	}
	race(t, func(n int) error {
		_, err := s.Update(t.Context(), account, id(n), func(r *catalog.StoredTool) error { r.Name = "name"; return nil })
		return err
	})
	wantOne(t, s, "name")
}

func testRacingRestore(t *testing.T, s catalog.Store) {
	for n := range crowd {
		r := record(n, "name")
		r.DeletedAt = deletion
		create(t, s, r)
	}
	race(t, func(n int) error {
		_, err := s.Update(t.Context(), account, id(n), func(r *catalog.StoredTool) error {
			r.DeletedAt = time.Time{}
			return nil
		})
		return err
	})
	wantOne(t, s, "name")
}

func testRacingUpdate(t *testing.T, s catalog.Store) {
	create(t, s, record(1, "name"))
	var wg sync.WaitGroup
	for n := range crowd {
		wg.Go(func() {
			_, err := s.Update(t.Context(), account, id(1), func(r *catalog.StoredTool) error {
				r.Tags = append(r.Tags, fmt.Sprint("tag-", n))
				return nil
			})
			if err != nil {
				t.Errorf("Update: %v", err)
			}
		})
	}
	wg.Wait()
	if n := len(get(t, s, id(1)).Tags); n != 3+crowd {
		t.Errorf("%d tags are left of %d", n, 3+crowd)
	}
}
