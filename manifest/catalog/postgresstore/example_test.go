package postgresstore_test

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/catalog/postgresstore"
)

func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL")) // postgres://user:password@host/database
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store, err := postgresstore.Open(ctx, pool)
	if err != nil {
		log.Fatal(err)
	}
	handler, err := catalog.NewHandler(store, &catalog.HandlerOptions{
		InsecureAccount: "6f9619ff-8b86-4011-b42d-00c04fc964ff", // use Authenticate in production
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Print(http.ListenAndServe(":8080", handler))
}
