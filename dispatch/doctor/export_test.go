package doctor

// Disagreement compares the two verdicts on a response. Shows looks for a marker in a text.
var (
	Disagreement = disagreement
	Shows        = shows
)
