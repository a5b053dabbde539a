package cost

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Live returns how many more bytes are reachable than before, at most, while f runs and when it has returned what
// it made. Collections are frequent meanwhile, so garbage hardly counts. The number is up to a fifth too small.
// Other goroutines should not allocate meanwhile.
func Live(f func() any) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	base, most := live(), make(chan uint64)
	stop := make(chan struct{})
	go func() {
		peak := base
		for {
			peak = max(peak, live())
			select {
			case <-stop:
				most <- peak
				return
			case <-time.After(100 * time.Microsecond):
			}
		}
	}()
	made := f()
	runtime.GC()
	after := live()
	runtime.KeepAlive(made)
	close(stop)
	return max(<-most, after) - base
}

// live returns the bytes that the last collection found reachable.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
