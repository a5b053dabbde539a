package httpserve

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"sync"
	"time"
)

// PieceSize is how many bytes of a response [Send] writes at a time.
const PieceSize = 64 << 10

// The peer has pieceTime to take each piece. net/http keeps a response of up to buffered bytes until the
// handler has returned.
const (
	pieceTime = 10 * time.Second
	buffered  = 2 << 10
)

// Send is [WriteJSON] for a peer that may not read. It writes the body in pieces of 64 KiB, each with
// ten seconds from its start, and the end of ctx ends the writing. The last deadline stays for what
// net/http still holds of the response when the handler returns; net/http removes it before the next
// request. If w does not support write deadlines, or the body has at most 2 KiB, Send is WriteJSON.
//
// Send calls sent, possibly more than once, when the response is written or given up. That may be long
// before Send returns: net/http writes to a connection of HTTP/2 without a deadline, so a peer that
// reads nothing at all also keeps the reset of its stream waiting.
//
// These deadlines replace the WriteTimeout of the server, which counts from the request.
func Send(ctx context.Context, w http.ResponseWriter, status int, body []byte, sent func()) {
	if len(body) <= buffered {
		defer sent()
		WriteJSON(w, status, body)
		return
	}
	Stream(ctx, w, status, slices.Chunk(body, PieceSize), sent)
}

// Stream is [Send] for a body that is made piece by piece, each of about [PieceSize] bytes. If the peer does not
// take a piece, no further ones are made.
func Stream(ctx context.Context, w http.ResponseWriter, status int, pieces iter.Seq[[]byte], sent func()) {
	defer sent()
	w.Header()["Content-Type"] = contentType
	s := sending{to: http.NewResponseController(w)}
	if s.within(pieceTime) != nil { // w has no deadlines
		w.WriteHeader(status)
		for piece := range pieces {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		return
	}
	defer s.end()
	giveUp := func() {
		s.giveUp()
		sent()
	}
	stop := context.AfterFunc(ctx, giveUp)
	defer stop()
	late := time.AfterFunc(pieceTime, giveUp)
	defer late.Stop()
	w.WriteHeader(status)
	for piece := range pieces {
		late.Reset(pieceTime)
		_ = s.within(pieceTime)
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// sending sets the write deadlines of one response.
type sending struct {
	to *http.ResponseController

	mu   sync.Mutex
	over bool // the response is written or given up
}

// within gives the next piece this much time.
func (s *sending) within(limit time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	return s.to.SetWriteDeadline(time.Now().Add(limit))
}

// giveUp ends a write that waits for the peer, and those after it.
func (s *sending) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over = true
		_ = s.to.SetWriteDeadline(time.Unix(1, 0))
	}
}

// end keeps giveUp away from the writer, which may not exist when the handler has returned.
func (s *sending) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}
