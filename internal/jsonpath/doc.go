// Package jsonpath evaluates the paths of ledger adapters.
package jsonpath
