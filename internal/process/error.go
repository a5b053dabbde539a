package process

// DirError reports that a program did not start because of its working directory.
type DirError struct{ Err error }

func (e *DirError) Error() string { return "working directory: " + e.Err.Error() }

// Unwrap returns the system's error.
func (e *DirError) Unwrap() error { return e.Err }
