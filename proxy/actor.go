package proxy

import (
	"context"
	"errors"
	"strings"

	"github.com/toolwire/toolwire/internal/actor"
)

// maxActorLen bounds a label; the platform's own bound is not documented.
const maxActorLen = 256

// ValidActor reports whether id can be sent as a sub-agent label: path segments of letters, digits,
// '_', '-', '.' and ':', joined by '/', at most 256 bytes. The platform's exact pattern is not
// documented; it answers 400 actor_id_invalid to a malformed label, and this is the common
// denominator of the labels in use.
func ValidActor(id string) error {
	switch {
	case id == "":
		return errors.New("an actor label must not be empty")
	case len(id) > maxActorLen:
		return errors.New("an actor label has at most 256 bytes")
	}
	for segment := range strings.SplitSeq(id, "/") {
		if segment == "" {
			return errors.New(`an actor label is a path such as "supervisor/refunds", without empty segments`)
		}
		for _, c := range []byte(segment) {
			switch {
			case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("_-.:", c) >= 0:
			default:
				return errors.New("an actor label is made of letters, digits, '_', '-', '.', ':' and '/'")
			}
		}
	}
	return nil
}

// WithActor returns a context in which calls are attributed to the sub-agent actorID, through any
// client that has no label of its own from [Client.As]. It is for agents that pass one client
// around: sub-agents that run in parallel each have their own context and cannot mix up their
// labels.
func WithActor(ctx context.Context, actorID string) context.Context {
	return actor.With(ctx, actorID)
}

func (c *Client) actorFor(ctx context.Context) string {
	if c.labelled {
		return c.actor
	}
	return actor.From(ctx)
}

func (c *Client) checkActor(info CallInfo) *Error {
	err := c.actorErr
	if !c.labelled && info.Actor != "" {
		err = ValidActor(info.Actor)
	}
	if err != nil {
		return localError(CodeActor, info.Tool, err.Error())
	}
	return nil
}
