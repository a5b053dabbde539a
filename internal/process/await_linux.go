package process

import (
	"syscall"
	"unsafe"
)

// inlineInput is how many bytes an empty pipe takes for sure before anybody reads: one page.
const inlineInput = 4096

// awaitExit returns when the leader has exited and leaves it uncollected. As long as it is, its number and that of the
// group cannot be given to another process, so a signal to the group cannot reach another process.
func (g *group) awaitExit() {
	const byPID = 1
	var info [128]byte // siginfo_t
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(g.pid), uintptr(unsafe.Pointer(&info)),
			syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 { // a kernel without waitid
			g.collect()
		}
		return
	}
}
