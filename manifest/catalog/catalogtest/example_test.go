package catalogtest_test

import (
	"testing"

	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/catalog/catalogtest"
)

// A test of a store calls TestStore with a function that opens an empty store.
func Example() {
	_ = func(t *testing.T) {
		catalogtest.TestStore(t, func(*testing.T) catalog.Store { return catalog.NewMemoryStore() })
	}
}
