//go:build unix && !linux

package process

// inlineInput is the number of bytes that an empty pipe accepts without a reader. These systems
// guarantee none.
const inlineInput = 0

// awaitExit returns when the leader has exited and collects it at once: waiting without collecting
// is not reliable on these systems (macOS also reports stopped processes). A later signal to the
// group reaches another process only if the group is empty and the system has reused its number
// within the pipe wait.
func (g *group) awaitExit() { g.collect() }
