package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime/coverage"
)

// stepsOf returns how many basic blocks of the covered packages f executes. Other goroutines must not
// run meanwhile.
func stepsOf(f func()) (uint64, error) {
	if err := coverage.ClearCounters(); err != nil {
		return 0, err
	}
	f()
	var out bytes.Buffer
	if err := coverage.WriteCounters(&out); err != nil {
		return 0, err
	}
	return total(out.Bytes())
}

var errFormat = errors.New("the counters have a format that is not known")

// total adds all counters of a file that package runtime/coverage has written.
func total(file []byte) (sum uint64, err error) {
	const (
		header  = 4 + 4 + 16 + 1 + 1 + 6 // magic, version, hash, flavor, byte order, padding
		segment = 8 + 4 + 4              // functions, length of the strings, length of the arguments
		flavor  = 24
		uleb128 = 2
	)
	if len(file) < header+segment || string(file[:4]) != "\x00cwm" || file[flavor] != uleb128 {
		return 0, errFormat
	}
	functions := binary.LittleEndian.Uint64(file[header:])
	skip := header + segment + binary.LittleEndian.Uint32(file[header+8:]) + binary.LittleEndian.Uint32(file[header+12:])
	skip += -skip & 3
	if int(skip) > len(file) {
		return 0, errFormat
	}
	rest := file[skip:]
	next := func() uint64 {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			err, n = errFormat, len(rest)
		}
		rest = rest[n:]
		return v
	}
	for range functions {
		counters := next()
		next() // the package
		next() // the function
		for range counters {
			sum += next()
			if err != nil {
				return 0, err
			}
		}
	}
	return sum, err
}
