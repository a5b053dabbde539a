// Package ledger shows what the platform would write into an agent's world state, and why something was not written.
package ledger
