// Package hook lets the packages of this module ask a value of a public package for what is not exported:
// an exported method cannot return a type of an internal package, and some methods only kits need.
package hook

// key is of the function that makes the V of a *T.
type key[T, V any] struct{}

var functions = map[any]any{}

// Set registers what [Of] returns for a *T. Packages call it when they are initialized.
func Set[T, V any](f func(*T) V) struct{} {
	functions[key[T, V]{}] = f
	return struct{}{}
}

// Of returns the V of a value.
func Of[V, T any](of *T) V {
	return functions[key[T, V]{}].(func(*T) V)(of)
}
