package process

// DirError says that the working directory, not the program, is why a program could not be started.
type DirError struct{ Err error }

func (e *DirError) Error() string { return "working directory: " + e.Err.Error() }

// Unwrap returns the system's error.
func (e *DirError) Unwrap() error { return e.Err }
