package doctor

// Shows looks for a marker in a text.
var Shows = shows
