package sqlitestore

import "database/sql"

// DB lets tests look at the connections of a store.
func (s *Store) DB() *sql.DB { return s.db }
