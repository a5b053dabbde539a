package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"
)

// heapGrowth is how much larger than the baseline the heap may be, in bytes. It does not depend on
// how long the soak runs.
const heapGrowth = 4 << 20

// levels are what must not grow. What a system cannot tell is 0.
type levels struct {
	goroutines, descriptors, children int
	heap                              uint64 // bytes
}

// String implements fmt.Stringer.
func (l levels) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d children, heap %.1f MB", l.goroutines, l.descriptors, l.children,
		float64(l.heap)/1e6)
}

func (l levels) max(o levels) levels {
	return levels{max(l.goroutines, o.goroutines), max(l.descriptors, o.descriptors), max(l.children, o.children),
		max(l.heap, o.heap)}
}

// settle waits until what ends by itself has ended, and measures. Without a baseline it waits until
// the levels do not fall any more.
func (s *soak) settle(base *levels) levels {
	now, unchanged := counted(), 0
	for end := time.Now().Add(safety); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		unchanged++
		if next := counted(); next != now {
			now, unchanged = next, 0
		}
		if base != nil && now.goroutines <= base.goroutines && now.descriptors <= base.descriptors {
			break
		}
		// A baseline that is measured too early is too high, never too low. Waiting for a leak that a
		// test has planted is in vain.
		if (base == nil || s.plant != "") && unchanged >= 100 {
			break
		}
	}
	now.children = children()
	runtime.GC() // twice, since the pools of sync keep what they hold for one cycle
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	now.heap = m.HeapAlloc
	return now
}

func counted() levels {
	return levels{goroutines: runtime.NumGoroutine(), descriptors: descriptors()}
}

// descriptors counts the open files of this process, where the system has /proc.
func descriptors() int {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0
	}
	return len(names) - 1 // without dir
}

// children counts the processes whose parent is this one, where the system has /proc.
func children() int {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	self, n := strconv.Itoa(os.Getpid()), 0
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent …; the name may have any characters
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == self {
			n++
		}
	}
	return n
}

// flat compares the levels with the baseline.
func (s *soak) flat(base, now levels) {
	if now.goroutines > base.goroutines {
		var stacks bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		s.violate("", "%d goroutines, %d in the baseline\n%.6000s", now.goroutines, base.goroutines, stacks.String())
	}
	if now.descriptors > base.descriptors {
		s.violate("", "%d descriptors, %d in the baseline: %q", now.descriptors, base.descriptors, openFiles())
	}
	if now.children > base.children {
		s.violate("", "%d child processes, %d in the baseline", now.children, base.children)
	}
	if now.heap > base.heap+heapGrowth {
		s.violate("", "the heap has %d bytes, %d in the baseline", now.heap, base.heap)
	}
}

// openFiles names the open files.
func openFiles() (names []string) {
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return nil
	}
	for _, link := range links {
		if name, err := os.Readlink(link); err == nil {
			names = append(names, name)
		}
	}
	return names
}
