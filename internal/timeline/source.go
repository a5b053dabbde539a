package timeline

import "io"

// A Source is a log or a result of a test kit. Its WriteTimeline calls [Fprint].
type Source interface {
	WriteTimeline(w io.Writer) error
}

// Of returns the run that a source writes. No method of a test kit can return it, because a type of an
// internal package has no place in exported signatures. So [Fprint] gives it to the writer of Of as it is.
func Of(s Source) Run {
	var taken taker
	_ = s.WriteTimeline(&taken) // never fails
	return Run(taken)
}

// taker is the writer of [Of].
type taker Run

func (*taker) Write(p []byte) (int, error) { return len(p), nil }

// Fprint writes the rows of a run as [Print] prints them. The writer of [Of] takes the run instead.
func Fprint(w io.Writer, r Run) error {
	if taken, ok := w.(*taker); ok {
		*taken = taker(r)
		return nil
	}
	_, err := io.WriteString(w, Print(r.Rows))
	return err
}
