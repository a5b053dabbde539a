package httpcall

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// LongestWait is what [RetryAfter] returns for any longer wait: 68 years.
const LongestWait = math.MaxInt32 * time.Second

// RetryAfter returns how long the header Retry-After asks to wait, from 0 to [LongestWait]. Both
// forms count, seconds and HTTP date. A negative number and a date in the past are 0. Seconds may
// have a fraction, which the standard does not allow but servers send. Of several values the
// longest counts. known is false if there is none that can be read.
func RetryAfter(h http.Header) (wait time.Duration, known bool) {
	for _, value := range h["Retry-After"] {
		if w, ok := oneWait(value); ok {
			wait, known = max(wait, w), true
			continue
		}
		for part := range strings.SplitSeq(value, ",") { // two headers that an intermediary has joined
			if w, ok := oneWait(part); ok {
				wait, known = max(wait, w), true
			}
		}
	}
	return wait, known
}

func oneWait(value string) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if strings.Trim(value, "0123456789.-") == "" {
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil && !math.IsInf(seconds, 0) {
			return 0, false
		}
		seconds = min(max(0, seconds), LongestWait.Seconds())
		return time.Duration(seconds * float64(time.Second)), true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(0, time.Until(at)), LongestWait), true
}
