package runner

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// jobContext is the context of a job. It ends when the job has returned, at the time limit, with
// the caller's context, or with [Call.Cancel].
//
// It has the cost of one channel and one timer. The contexts of package context can have a cause
// and the error DeadlineExceeded only if one of them is derived from another, which costs a run
// that makes no call more than the decoding of its dispatch. jobContext makes such a context when
// Done is called for the first time. Contexts that are derived from a jobContext then attach
// to that one, without a goroutine.
type jobContext struct {
	outer    context.Context
	deadline time.Time
	limit    error // the cause at the deadline
	timer    *time.Timer
	ended    chan struct{} // closed at the end

	standard sync.Once // guards the making of inner

	mu         sync.Mutex
	stop       Stop
	err, cause error           // why it has ended; nil before
	inner      context.Context // of package context; nil until Done is called
	endInner   func()          // ends inner as its parent has ended
	release    context.CancelFunc
	past       context.Context // has ended with cause; nil until it is needed
}

func (c *jobContext) start(outer context.Context, deadline time.Time, limit error) {
	c.outer, c.deadline, c.limit, c.ended = outer, deadline, limit, make(chan struct{})
	if c.err != nil { // Cancel came first
		close(c.ended)
	}
	c.check()
	c.timer = time.AfterFunc(time.Until(deadline), c.expire)
}

// wait returns when the context has ended.
func (c *jobContext) wait() {
	select {
	case <-c.ended:
	case <-c.outer.Done():
		c.check()
	}
	c.timer.Stop()
}

func (c *jobContext) expire() {
	c.check()
	c.end(TimedOut, context.DeadlineExceeded, c.limit)
}

func (c *jobContext) cancel(cause error) {
	if c.outer != nil {
		c.check()
	}
	c.end(Canceled, context.Canceled, cmp.Or(cause, context.Canceled))
}

// check ends the context if the caller's has ended.
func (c *jobContext) check() {
	if err := c.outer.Err(); err != nil {
		c.end(Canceled, err, context.Cause(c.outer))
	}
}

// end ends the context, unless it has ended.
func (c *jobContext) end(stop Stop, err, cause error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.stop, c.err, c.cause = stop, err, cause
	if c.ended != nil {
		close(c.ended)
	}
	endInner, release := c.endInner, c.release
	c.mu.Unlock()
	if endInner != nil {
		endInner()
	}
	if release != nil {
		release()
	}
}

// state returns why the context has ended, and InTime before.
func (c *jobContext) state() (Stop, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop, c.cause
}

// Deadline implements [context.Context].
func (c *jobContext) Deadline() (time.Time, bool) {
	if outer, ok := c.outer.Deadline(); ok && outer.Before(c.deadline) {
		return outer, true
	}
	return c.deadline, true
}

// Done implements [context.Context].
func (c *jobContext) Done() <-chan struct{} {
	c.standard.Do(func() {
		inner, release := context.WithCancel((*parent)(c))
		c.mu.Lock()
		c.inner, c.release = inner, release
		err := c.err
		c.mu.Unlock()
		if err != nil {
			<-inner.Done() // Err may have returned err while there was no inner to wait for
		}
	})
	return c.inner.Done()
}

// Err implements [context.Context]. Like that of package context, it returns an error only if Done
// is closed.
func (c *jobContext) Err() error {
	c.check()
	inner, err := c.now()
	if err != nil && inner != nil {
		<-inner.Done() // another goroutine may be in end
	}
	return err
}

// now returns the context that Done has made, or nil, and why the context has ended, or nil.
func (c *jobContext) now() (inner context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inner, c.err
}

// Value implements [context.Context]. After the end, inner may not have ended yet, so the values
// are those of its parent.
func (c *jobContext) Value(key any) any {
	if inner, err := c.now(); err == nil && inner != nil {
		return inner.Value(key)
	}
	return (*parent)(c).Value(key)
}

// parent is the parent of the context that Done makes. That context ends with its error and cause.
type parent jobContext

// Deadline implements [context.Context].
func (p *parent) Deadline() (time.Time, bool) { return (*jobContext)(p).Deadline() }

// Done implements [context.Context].
func (p *parent) Done() <-chan struct{} { return p.ended }

// Err implements [context.Context]. It does not wait for the context that Done makes, which calls
// it while it ends.
func (p *parent) Err() error {
	(*jobContext)(p).check()
	_, err := (*jobContext)(p).now()
	return err
}

// Value implements [context.Context]. After the end it returns what a context that has ended with
// the same cause returns, because that is where [context.Cause] finds the cause.
func (p *parent) Value(key any) any {
	p.mu.Lock()
	if p.err != nil && p.past == nil {
		past, end := context.WithCancelCause(context.Background())
		end(p.cause)
		p.past = past
	}
	past := p.past
	p.mu.Unlock()
	if past != nil {
		if v := past.Value(key); v != nil {
			return v
		}
	}
	return p.outer.Value(key)
}

// AfterFunc is called once, by the context that Done makes. With it that context needs no
// goroutine.
func (p *parent) AfterFunc(f func()) (stop func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		go f()
	} else {
		p.endInner = f
	}
	return func() bool { return false }
}
