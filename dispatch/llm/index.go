package llm

import "hash/maphash"

// A lineIndex finds lines of a thread. It has the first n of them, so that a request which has a few of many messages
// costs no more than these. Indices are in order.
type lineIndex struct {
	n           int
	keys, texts map[uint64][]int
	ids         map[string][]int
	at          map[*line]int
	asked       []int // for each line the last one up to it that a request added; -1 for none

	folded []uint64 // keys of no line, the first line, the first two and so on, for any number of lines
}

// indexed returns the index of all lines.
func (th *thread) indexed() *lineIndex {
	x := &th.index
	if x.at == nil {
		x.keys, x.texts, x.ids, x.at = map[uint64][]int{}, map[uint64][]int{}, map[string][]int{}, map[*line]int{}
	}
	for ; x.n < len(th.lines); x.n++ {
		l, asked := th.lines[x.n], x.n
		x.at[l] = x.n
		x.keys[l.key] = append(x.keys[l.key], x.n)
		if l.reply != nil {
			x.texts[l.text] = append(x.texts[l.text], x.n)
			asked = x.askedBefore(x.n)
		}
		for _, call := range l.ToolCalls {
			x.ids[call.ID] = append(x.ids[call.ID], x.n)
		}
		x.asked = append(x.asked, asked)
	}
	return x
}

// keyOf returns the key of the first n lines. A request that goes on with a response folds only the lines that have
// come since the last one.
func (th *thread) keyOf(n int) uint64 {
	x := &th.index
	if x.folded == nil {
		x.folded = []uint64{0}
	}
	for i := len(x.folded); i <= n; i++ {
		x.folded = append(x.folded, fold(x.folded[i-1], th.lines[i-1].key))
	}
	return x.folded[n]
}

// fold returns the key of messages and one more.
func fold(key, next uint64) uint64 { return maphash.Comparable(seed, [2]uint64{key, next}) }

// askedBefore returns the last line before another that a request added, or -1.
func (x *lineIndex) askedBefore(at int) int {
	if at == 0 {
		return -1
	}
	return x.asked[at-1]
}

// cut drops the lines from one on, which must not have changed, from the index.
func (th *thread) cut(from int) {
	x := &th.index
	x.folded = x.folded[:min(len(x.folded), from+1)]
	for x.n > from {
		x.n--
		l := th.lines[x.n]
		delete(x.at, l)
		pop(x.keys, l.key)
		if l.reply != nil {
			pop(x.texts, l.text)
		}
		for _, call := range l.ToolCalls {
			pop(x.ids, call.ID)
		}
		x.asked = x.asked[:x.n]
	}
}

// pop drops the last of the indices of a key.
func pop[K comparable](of map[K][]int, key K) {
	if last := len(of[key]) - 1; last > 0 {
		of[key] = of[key][:last]
	} else {
		delete(of, key)
	}
}
