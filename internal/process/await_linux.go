package process

import (
	"syscall"
	"unsafe"
)

// inlineInput is the number of bytes that an empty pipe accepts without a reader: one page.
const inlineInput = 4096

// awaitExit returns when the leader has exited and does not collect it. Until it is collected, the
// system gives neither its number nor the number of its group to another process, so a signal to the
// group cannot reach one.
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
