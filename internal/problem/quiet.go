package problem

// Quiet returns an error with the given text that unwraps to err, whose own text must not be shown: it may quote a
// peer, arguments or a URL. No verb of package fmt shows err.
func Quiet(text string, err error) error { return &quiet{text, func() error { return err }} }

type quiet struct {
	text  string
	cause func() error // package fmt prints fields of an error, but calls no functions in them
}

func (q *quiet) Error() string { return q.text }
func (q *quiet) Unwrap() error { return q.cause() }
