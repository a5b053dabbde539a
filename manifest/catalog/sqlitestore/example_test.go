package sqlitestore_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/catalog/sqlitestore"
)

func Example() {
	dir, err := os.MkdirTemp("", "catalog")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	store, err := sqlitestore.Open(context.Background(), filepath.Join(dir, "catalog.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	h, err := catalog.NewHandler(store, &catalog.HandlerOptions{
		InsecureAccount: "6f9619ff-8b86-4011-b42d-00c04fc964ff", // use Authenticate in production
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/tools/", h)

	list, err := store.List(context.Background(), "6f9619ff-8b86-4011-b42d-00c04fc964ff", "")
	fmt.Println(len(list), err)
	// Output: 0 <nil>
}
