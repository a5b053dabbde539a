//go:build unix && !linux

package process

// awaitExit returns when the leader has exited. It collects it at once, because waiting without collecting is not
// dependable here (macOS also reports stopped processes). A later signal to the group could then reach a stranger only
// if the group is empty and its number was given out anew within the pipe wait.
func (g *group) awaitExit() { g.state, _ = g.leader.Wait() }
