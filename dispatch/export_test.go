package dispatch

// Dropped returns how many messages a transcript had no room for, before it is sent.
func Dropped(t *Transcript) int { return t.dropped() }
