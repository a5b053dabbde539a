//go:build unix

package cost

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// Processor returns the processor time that f takes: the least of five measurements, each after a
// collection and without one meanwhile: short work ends before its first collection, so collections
// would look like growth. Unlike elapsed time it does not grow while other programs run.
func Processor(f func()) time.Duration {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := time.Duration(1 << 62)
	for range 5 {
		runtime.GC()
		before := used()
		f()
		least = min(least, used()-before)
	}
	return least
}

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
