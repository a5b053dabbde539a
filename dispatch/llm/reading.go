package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A reading is a request, compared with a thread.
type reading struct {
	thread *thread
	lines  []*line // of the thread
	from   int     // lines that come before the messages of the request
	at     []int   // for each message of the request the line that it stands for, or one of the values below
	next   int     // the first line that a message may stand for
	last   int     // the last line that a message stands for; -1 for none
	fits   int     // messages that stand for something
	exact  int     // answers found by what they say, and not by where they stand: 1 for each, for its id, and for all that it says
	equal  int     // results that are what they were
	front  bool    // the first message stands for the first line
	known  bool    // an answer or a result is among them

	calls   map[string][]callOf // calls without a result in the request so far, by the request's ids
	taken   map[callOf]bool     // calls that the request has
	lists   map[listKey][]callOf
	done    map[string]bool // ids of results of the request so far
	given   map[callOf]bool // calls with a result that the request adds
	results map[int]callOf  // calls of the results that the request adds, by message
	renamed []renamedCall
	trimmed map[*line]dispatch.Content // texts from which the agent has cut white space
	more    []addedCall
	moreOf  map[*line]int // how many of them a line gets
}

// Values of at.
const (
	added = -1 // the message stands for nothing
	twice = -2 // it says again what is known
)

// An addedCall is a call that a request adds to an answer.
type addedCall struct {
	to   *line
	call dispatch.ToolCall
}

// A renamedCall is a call to which the request gives another id.
type renamedCall struct {
	call callOf
	id   string
}

// A listKey is of the calls of an answer that are alike, by one of callKeys. The answer is its first line and the
// number of its lines.
type listKey struct {
	first *line
	n, by int
	key   string
}

// compare compares a request with the thread. from is the number of lines that come before the messages of
// the request itself.
func (th *thread) compare(r *request, from int) *reading {
	rd := &reading{thread: th, lines: th.lines, from: from, at: make([]int, len(r.lines)), next: from, last: from - 1, fits: from, front: from > 0, known: from > 0,
		calls: map[string][]callOf{}, taken: map[callOf]bool{}, lists: map[listKey][]callOf{}, done: map[string]bool{}, given: map[callOf]bool{},
		results: map[int]callOf{}, trimmed: map[*line]dispatch.Content{}, moreOf: map[*line]int{}}
	for i, l := range r.lines {
		at := added
		switch l.Role {
		case dispatch.RoleTool:
			at = rd.result(i, l)
		case dispatch.RoleAssistant:
			at = rd.answer(r, i)
		default:
			at = rd.find(l.key)
		}
		if rd.at[i] = at; at == added {
			continue
		}
		rd.fits++
		rd.front = rd.front || i == 0 && at == 0
		rd.known = rd.known || l.Role == dispatch.RoleAssistant || l.Role == dispatch.RoleTool
		rd.next, rd.last = max(rd.next, at+1), max(rd.last, at)
	}
	return rd
}

// belongs reports whether the request is of the thread.
func (rd *reading) belongs() bool { return rd.fits > 0 && (rd.front || rd.known) }

// better reports whether the request fits better than another. Conversations may begin with the same words, so
// what the model and the tools said counts before the number of messages, and a thread that waits for this request
// before one that has gone on.
func (rd *reading) better(than *reading) bool {
	switch {
	case than == nil:
		return true
	case rd.exact != than.exact:
		return rd.exact > than.exact
	case rd.exact > 0 && rd.front != than.front:
		return rd.front
	case rd.equal != than.equal:
		return rd.equal > than.equal
	case rd.exact > 0 && rd.waits() != than.waits():
		return rd.waits()
	case rd.fits != than.fits:
		return rd.fits > than.fits
	}
	return rd.front || !than.front
}

// waits reports whether the thread ends with an answer that the request has.
func (rd *reading) waits() bool {
	n := len(rd.lines) - 1
	return n >= 0 && rd.last == n && rd.lines[n].reply != nil
}

// branches reports whether the request passes over what requests have added at the end, or has a system prompt of its
// own and passes over an answer to another one, unless that has failed.
func (rd *reading) branches(th *thread, r *request) bool {
	rest := rd.lines[rd.last+1:]
	if slices.ContainsFunc(rest, func(l *line) bool { return l.reply == nil }) {
		return true
	}
	return r.previous == "" && th.system.key != r.system.key &&
		slices.ContainsFunc(rest, func(l *line) bool { return l.reply.answered || l.reply.fault == "" })
}

// key is equal for requests with the same messages and system prompt: the last messages of a conversation are not
// the same as all of it. The thread must be as it was compared.
func (rd *reading) key(r *request) uint64 {
	key := rd.thread.keyOf(rd.from)
	for i, l := range r.lines {
		if at := rd.at[i]; at >= 0 {
			l = rd.lines[at]
		}
		key = fold(key, l.key)
	}
	for _, m := range r.prefill {
		key = fold(key, newLine(m, nil).key)
	}
	return fold(key, r.system.key)
}

// adds reports whether the request adds a message.
func (rd *reading) adds() bool { return slices.Contains(rd.at, added) }

// chosen returns the lines that the request has.
func (rd *reading) chosen() []*line {
	lines := slices.Clone(rd.lines[:rd.from])
	for _, at := range slices.Compact(slices.Sorted(slices.Values(rd.at))) {
		if at >= rd.from {
			lines = append(lines, rd.lines[at])
		}
	}
	return lines
}

// find returns the first line from next on that says the same.
func (rd *reading) find(key uint64) int {
	switch {
	case rd.next >= len(rd.lines):
		return added
	case rd.lines[rd.next].key == key:
		return rd.next
	}
	return first(rd.thread.indexed().keys[key], rd.next)
}

func first(indices []int, from int) int {
	if i := sort.SearchInts(indices, from); i < len(indices) {
		return indices[i]
	}
	return added
}

// result returns what the result of a call stands for: the result that the call has.
func (rd *reading) result(i int, l *line) int {
	var c callOf
	if open := rd.calls[l.ToolCallID]; len(open) > 0 {
		c, rd.calls[l.ToolCallID] = open[0], open[1:]
	} else if rd.done[l.ToolCallID] {
		return twice
	} else if of := rd.thread.indexed().ids[l.ToolCallID]; len(of) > 0 { // the request does not have the call
		c.line = rd.lines[of[len(of)-1]]
		c.k = slices.IndexFunc(c.line.ToolCalls, func(call dispatch.ToolCall) bool { return call.ID == l.ToolCallID })
	} else {
		return rd.find(l.key)
	}
	rd.done[l.ToolCallID] = true
	var known *line
	if c.k < len(c.line.results) {
		known = c.line.results[c.k]
	}
	if known == nil && !rd.given[c] {
		rd.given[c], rd.results[i], rd.known = true, c, true
		return added
	}
	at := rd.where(known)
	if at >= 0 && bytes.Equal(known.Content, l.Content) {
		rd.equal++
	}
	return at
}

// where returns the index of the result that a call has, or twice if the thread does not have it.
func (rd *reading) where(result *line) int {
	switch {
	case result == nil:
		return twice
	case rd.next < len(rd.lines) && rd.lines[rd.next] == result: // most requests need no index
		return rd.next
	}
	if at, ok := rd.thread.indexed().at[result]; ok {
		return at
	}
	return twice
}

// answer returns the line of the answer that a message of the assistant stands for.
func (rd *reading) answer(r *request, i int) int {
	l := r.lines[i]
	from := rd.next
	if i > 0 && r.lines[i-1].Role == dispatch.RoleAssistant && rd.at[i-1] >= 0 {
		from = rd.at[i-1] // the agent may send a message in two
	}
	at := added
	for _, call := range l.ToolCalls {
		if at = rd.byID(call.ID, from); at >= 0 {
			rd.exact++
			break
		}
	}
	if at == added {
		at = rd.find(l.key)
	}
	if at == added {
		at = rd.before(r, i)
	}
	if at == added && l.text != 0 {
		at = rd.byText(l, from)
	}
	if at >= 0 {
		rd.exact++
		if rd.lines[at].key == l.key {
			rd.exact++
		}
		if of := rd.lines[at]; of.tight == l.tight && !bytes.Equal(of.Content, l.Content) && isText(of.Content) && isText(l.Content) {
			rd.trimmed[of] = l.Content
		}
		rd.pair(l, rd.lines[at:at+1])
		return at
	}
	if start, end := rd.nextAnswer(r, i); start < end {
		rd.pair(l, rd.lines[start:end])
		return end - 1
	}
	rd.pair(l, []*line{l})
	return added
}

func isText(content dispatch.Content) bool { return rawjson.Kind(json.RawMessage(content)) == '"' }

func (rd *reading) byID(id string, from int) int {
	if from >= len(rd.lines) || isMade(id) {
		return added
	}
	if calls := rd.lines[from].ToolCalls; len(calls) > 0 && calls[0].ID == id { // most requests need no index
		return from
	}
	return first(rd.thread.indexed().ids[id], from)
}

// before returns the answer before the results before a message, if the message has calls that are left of it,
// one by its id or all by tool and arguments: the agent may send each call with its result.
func (rd *reading) before(r *request, i int) int {
	calls := r.lines[i].ToolCalls
	for i--; i >= 0 && r.lines[i].Role == dispatch.RoleTool; {
		i--
	}
	if i < 0 || r.lines[i].Role != dispatch.RoleAssistant || rd.at[i] < 0 || calls == nil {
		return added
	}
	left := func(by int) func(dispatch.ToolCall) bool {
		return func(call dispatch.ToolCall) bool {
			_, left := rd.first(rd.lines[rd.at[i]:rd.at[i]+1], by, call)
			return left
		}
	}
	if slices.ContainsFunc(calls, left(0)) || !slices.ContainsFunc(calls, func(call dispatch.ToolCall) bool { return !left(1)(call) }) {
		return rd.at[i]
	}
	return added
}

// byText returns the first answer with the same text. If the message has calls, the answer has one of
// the same tool.
func (rd *reading) byText(l *line, from int) int {
	if from >= len(rd.lines) {
		return added
	}
	at := first(rd.thread.indexed().texts[l.text], from)
	if at >= 0 && !rd.sharesTool(l, rd.lines[at:at+1]) {
		return added
	}
	return at
}

// nextAnswer returns the lines of the answer that comes next, if the messages around it fit.
func (rd *reading) nextAnswer(r *request, i int) (start, end int) {
	start = rd.next
	if start == len(rd.lines) || rd.lines[start].reply == nil || rd.lines[start].Role == "" || i == 0 || rd.at[i-1] != start-1 {
		return 0, 0
	}
	for end = start; end < len(rd.lines) && rd.lines[end].reply == rd.lines[start].reply; {
		end++
	}
	if !rd.sharesTool(r.lines[i], rd.lines[start:end]) {
		return 0, 0
	}
	if i+1 == len(r.lines) || end == len(rd.lines) {
		return start, end
	}
	after, follows := r.lines[i+1], rd.lines[end]
	if after.Role == follows.Role && (after.Role != dispatch.RoleUser || after.key == follows.key) {
		return start, end
	}
	return 0, 0
}

// sharesTool reports whether a message has no calls, or one of a tool that the lines have a call of.
func (rd *reading) sharesTool(l *line, lines []*line) bool {
	return l.ToolCalls == nil || slices.ContainsFunc(l.ToolCalls, func(call dispatch.ToolCall) bool {
		c, _ := rd.first(lines, 2, call)
		return c.line != nil
	})
}

// pair finds the calls of a message in the lines that it stands for: by their ids, or else by tool and
// arguments, or else in the order of the calls of a tool. Calls that are not there are added. The message may
// be one of the lines itself.
func (rd *reading) pair(l *line, lines []*line) {
	if len(l.ToolCalls) == 0 {
		return
	}
	if at := lines[0]; len(lines) == 1 && slices.EqualFunc(at.ToolCalls, l.ToolCalls, func(a, b dispatch.ToolCall) bool { return a.ID == b.ID }) {
		for k, call := range l.ToolCalls {
			rd.calls[call.ID] = append(rd.calls[call.ID], callOf{at, k})
			rd.taken[callOf{at, k}] = true
		}
		return
	}
	for i, c := range rd.match(l, lines) {
		call := l.ToolCalls[i]
		if c.line == nil {
			to := lines[len(lines)-1]
			c = callOf{to, len(to.ToolCalls) + rd.moreOf[to]}
			rd.moreOf[to]++
			rd.more = append(rd.more, addedCall{to, call})
		} else if c.line.ToolCalls[c.k].ID != call.ID {
			rd.renamed = append(rd.renamed, renamedCall{c, call.ID})
		}
		rd.calls[call.ID] = append(rd.calls[call.ID], c)
		rd.taken[c] = true
	}
}

// match returns for each call of a message the one that it stands for, which has no line if there is none. Ids
// come first, so that no call takes another's place.
func (rd *reading) match(l *line, lines []*line) []callOf {
	found := make([]callOf, len(l.ToolCalls))
	for by := range callKeys {
		for i, call := range l.ToolCalls {
			if found[i].line != nil {
				continue
			}
			if c, left := rd.first(lines, by, call); left || by == 0 && c.line != nil { // an id that comes again is the same call
				found[i], rd.taken[c] = c, true
			}
		}
	}
	return found
}

// callKeys are what calls are matched by: their ids, their tools and arguments, and their tools.
var callKeys = [...]func(dispatch.ToolCall) string{
	func(call dispatch.ToolCall) string { return call.ID }, callKey, func(call dispatch.ToolCall) string { return call.Name },
}

// first returns the first call of an answer that is like a call and that the request has not had, or else the last one.
func (rd *reading) first(lines []*line, by int, call dispatch.ToolCall) (c callOf, left bool) {
	of := listKey{lines[0], len(lines), by, ""}
	if _, known := rd.lists[of]; !known {
		rd.lists[of] = nil
		for _, at := range lines {
			for k, call := range at.ToolCalls {
				of.key = "=" + callKeys[by](call)
				rd.lists[of] = append(rd.lists[of], callOf{at, k})
			}
		}
	}
	of.key = "=" + callKeys[by](call)
	list := rd.lists[of]
	if len(list) == 0 {
		return c, false
	}
	for len(list) > 1 && rd.taken[list[0]] {
		list = list[1:]
	}
	rd.lists[of] = list
	return list[0], !rd.taken[list[0]]
}

// change changes the answers of the thread as the request has them: ids of calls, and calls that were added.
func (rd *reading) change(ids *callIDs) {
	own := map[*line]bool{} // lines whose calls the transcript does not have
	calls := func(l *line) []dispatch.ToolCall {
		if !own[l] {
			own[l], l.ToolCalls = true, slices.Clone(l.ToolCalls)
			for _, th := range rd.thread.label.threads {
				if at, ok := th.index.at[l]; ok {
					th.cut(at)
				}
			}
		}
		return l.ToolCalls
	}
	for _, more := range rd.more {
		more.to.ToolCalls = append(calls(more.to), more.call)
		more.to.results = append(more.to.results, nil)
	}
	for l := range own {
		l.name(ids)
	}
	for at, content := range rd.trimmed {
		at.Content = content
	}
	for _, renamed := range rd.renamed {
		c, id := renamed.call, renamed.id
		if isMade(id) && ids.made[c.line.ToolCalls[c.k].ID] {
			continue
		}
		if isMade(id) {
			id = ids.next()
		}
		calls(c.line)[c.k].ID = id
		ids.used[id] = true
		if result := c.line.results[c.k]; result != nil {
			result.ToolCallID = id
		}
	}
}
