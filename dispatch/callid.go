package dispatch

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// madeID begins the ids that transcripts make for calls without [proxy.WithCallID]. A number follows.
const madeID = "call_"

// newID returns an id that is not among used, not in an earlier turn of this handler, and not in the
// replayed messages. These may be long: where other goroutines wait for t.mu, it must not be held.
func (t *Transcript) newID(used map[string]bool) string {
	t.readReplayed.Do(func() { t.replayed = t.run.replayedNumbers() })
	for {
		n := t.numbers.Add(1)
		if id := madeID + strconv.FormatInt(n, 10); !t.replayed[n] && !used[id] {
			return id
		}
	}
}

// replayedNumbers returns the numbers of the ids of calls and results in the replayed messages, as far as
// a transcript could have made them. It keeps nothing of other ids, because there may be many.
func (r *Run) replayedNumbers() map[int64]bool {
	numbers := map[int64]bool{}
	add := func(id json.RawMessage) {
		digits, made := strings.CutPrefix(rawjson.Unquote(id), madeID)
		if n, err := strconv.ParseInt(digits, 10, 64); made && err == nil {
			numbers[n] = true
		}
	}
	if !json.Valid(r.Messages) { // a test may have made the run
		return numbers
	}
	for message := range rawjson.Elements(r.Messages) {
		add(rawjson.Member(message, "tool_call_id"))
		for call := range rawjson.Elements(rawjson.Member(message, "tool_calls")) {
			add(rawjson.Member(call, "id"))
		}
	}
	return numbers
}
