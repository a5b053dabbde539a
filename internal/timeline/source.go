package timeline

// maker is the key of the function that makes the run of a *T.
type maker[T any] struct{}

var makers = map[any]any{}

// Made registers how the run of a *T is made, for [Of]. Test kits call it when they are initialized: no
// method of theirs can return a run, because a type of an internal package has no place in exported
// signatures.
func Made[T any](run func(*T) Run) struct{} {
	makers[maker[T]{}] = run
	return struct{}{}
}

// Of returns the run of a log or a result of a test kit.
func Of[T any](source *T) Run {
	run, _ := makers[maker[T]{}].(func(*T) Run)
	return run(source)
}
