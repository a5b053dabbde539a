package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

// A User simulates the user of a session: it returns the user's next message. If the user has
// nothing more to say, it returns [dispatchtest.ErrDone], or an error that wraps it and gives the
// reason. It returns when ctx ends.
//
// t is the trial that runs. t.Cell("user_simulator_persona") is who the user is, and t.Task.Instruction
// is what the user wants and has said first. The other columns of the row are for the User too. turns are
// the turns so far: Instruction is what the user said and FinalResponse what the agent answered. There are
// none if the case has no instruction: then the User begins the session. The User is asked after the last
// turn too, and must then end the session.
//
// A User fails if it returns another error or no text, if it panics, if it takes longer than
// a minute for a message, and if it goes on after the last turn that the session allows. The trial has then
// [Errored] with the cause user: the agent did not cause it. What the agent did wrong before, such as
// calling a tool that does not exist, remains a failure of the agent. The platform ends a session after
// its last turn and grades it; here such a session does not show whether the agent failed or the user
// did not stop.
type User func(ctx context.Context, t Trial, turns []dispatchtest.Turn) (string, error)

// needsUser is why a case is skipped without Options.User.
const needsUser = "a model has to write the user's turns (simulator_mode persona)"

// unversioned is in the fingerprint for a User without a version. Its results differ from the
// results of an experiment that skipped the rows.
const unversioned = "unversioned"

const (
	defaultTurns = 10          // of [dispatchtest.Conversation]
	userTimeout  = time.Minute // for one message
)

// skip returns why the case cannot run, or "".
func (o *Options) skip(c *Case) string {
	r := c.data()
	if r == nil {
		return ""
	}
	if r.Persona != "" && o.User == nil {
		return cmp.Or(r.Skip, needsUser)
	}
	return r.Skip
}

// played reports whether something other than a script writes the user's turns of the case.
func (o *Options) played(c *Case) bool {
	r := c.data()
	return o.User != nil && r != nil && r.Skip == "" && r.Persona != "" ||
		c.Task.Conversation != nil && c.Task.Conversation.User != nil
}

// userVersion is the version of the user for the fingerprint. It is "" if no case needs one.
func (o *Options) userVersion(cases []Case) string {
	for i := range cases {
		if o.played(&cases[i]) {
			return cmp.Or(o.UserVersion, unversioned)
		}
	}
	return ""
}

// turns returns how many dispatches a trial of the case has at most, and how many messages its user writes.
func (o *Options) turns(c *Case) (turns, asked int) {
	talk := c.talk()
	most, scripted := limitOf(talk), len(talk.UserTurns)
	if c.Task.Instruction != "" {
		scripted++
	}
	if !o.played(c) {
		return max(1, min(most, scripted)), 0
	}
	return most, max(0, most-scripted+1) // the last message ends the session
}

// talk returns the conversation of a case.
func (c *Case) talk() dispatchtest.Conversation {
	if c.Task.Conversation == nil {
		return dispatchtest.Conversation{}
	}
	return *c.Task.Conversation
}

func limitOf(talk dispatchtest.Conversation) int { return cmp.Or(max(0, talk.MaxTurns), defaultTurns) }

// Seed returns the seed of the trial's world, for a [User] that draws at random: it is the
// same in every run of the trial. For a world that [Dataset.Cases] did not make, the seed of the
// world is not part of it.
func (t *Trial) Seed() uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s/%d", t.baseSeed, t.ID, t.Number)
	return h.Sum64()
}

type sayFunc = func(ctx context.Context, turns []dispatchtest.Turn) (string, error)

// guarded returns a function of [dispatchtest.Conversation] that turns everything that goes wrong
// into an error.
func guarded(say sayFunc, limit time.Duration, most int) sayFunc {
	type answer struct {
		text string
		err  error
	}
	return func(parent context.Context, turns []dispatchtest.Turn) (string, error) {
		ctx, cancel := context.WithTimeout(parent, limit)
		defer cancel()
		done := make(chan answer, 1)
		go func() {
			a := answer{err: errors.New("it ended its goroutine")}
			defer func() {
				if p := recover(); p != nil {
					a.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				}
				done <- a
			}()
			a.text, a.err = say(ctx, turns)
		}()
		var a answer
		select {
		case a = <-done:
		case <-ctx.Done(): // a user that does not return is left behind
			a.err = ctx.Err()
		}
		switch {
		case a.err != nil && parent.Err() != nil:
			return "", context.Cause(parent)
		case a.err != nil && ctx.Err() != nil:
			a.err = fmt.Errorf("it did not answer within %s", limit)
		case a.err == nil && strings.TrimSpace(a.text) != "" && len(turns) >= most:
			a.err = fmt.Errorf("it went on after turn %d, the last of the session (max_turns)", most)
		}
		return a.text, a.err
	}
}
