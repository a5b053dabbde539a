package jsonschema

import (
	"runtime"
	"sync/atomic"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
)

// compiledSchema is what the library made of a schema. Its formats spend the steps of one counter, so it
// serves one validation at a time.
type compiledSchema struct {
	root    *lib.Schema
	counter *counter
}

// pool holds the copies of a compiled schema that no validation uses. A copy is made when all others are
// busy, up to one for each processor.
type pool struct {
	free  chan *compiledSchema
	made  atomic.Int32
	build func() *compiledSchema // nil if it fails
}

func newPool(first *compiledSchema, build func() *compiledSchema) *pool {
	p := &pool{free: make(chan *compiledSchema, max(1, runtime.GOMAXPROCS(0))), build: build}
	p.made.Store(1)
	p.free <- first
	return p
}

// take returns a copy, which the caller gives back. It waits only if there is a busy copy for each processor.
func (p *pool) take() *compiledSchema {
	select {
	case s := <-p.free:
		return s
	default:
	}
	if p.made.Add(1) <= int32(cap(p.free)) {
		if s := p.build(); s != nil {
			return s
		}
	}
	p.made.Add(-1)
	return <-p.free
}

func (p *pool) giveBack(s *compiledSchema) { p.free <- s }
