//go:build unix && !linux

package process

// inlineInput is how many bytes an empty pipe takes for sure before anybody reads. No promise is known here.
const inlineInput = 0

// awaitExit returns when the leader has exited. It collects it at once, because waiting without collecting is not
// dependable here (macOS also reports stopped processes). A later signal to the group could then reach a stranger only
// if the group is empty and its number was given out anew within the pipe wait.
func (g *group) awaitExit() { g.collect() }
