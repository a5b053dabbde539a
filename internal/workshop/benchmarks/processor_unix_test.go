//go:build unix

package benchmarks

import "syscall"

// processor returns the processor time that this process has used, in nanoseconds.
func processor() int64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
