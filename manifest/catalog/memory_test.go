package catalog_test

import (
	"testing"

	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/catalog/catalogtest"
)

func TestMemoryStore(t *testing.T) {
	catalogtest.TestStore(t, func(*testing.T) catalog.Store { return catalog.NewMemoryStore() })
}
