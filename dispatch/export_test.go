package dispatch

// CodeMode is what [Main] does before it exits.
var CodeMode = codeMode

// RecorderOf returns what package llm writes with.
func RecorderOf(t *Transcript) recorder { return recorder{t} }
