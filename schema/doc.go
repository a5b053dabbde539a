// Package schema declares an agent's tools.
package schema
