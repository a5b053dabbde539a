package sqlitestore

import "database/sql"

// OpenBusy is Open with another time that a call waits while another process writes.
var OpenBusy = open

// DB lets tests look at the connections of a store.
func (s *Store) DB() *sql.DB { return s.db }
