package jsonschema

import lib "github.com/santhosh-tekuri/jsonschema/v6"

// cycle returns a schema that applies itself to the same value without end, or nil. It ignores
// dynamic references, whose target depends on the path.
func (g *graph) cycle() *lib.Schema {
	for _, n := range g.order {
		if c := n.findCycle(); c != nil {
			return c.schema
		}
	}
	return nil
}

func (n *node) findCycle() *node {
	const walk = "cycle"
	if v, ok := n.mark[walk]; ok {
		if v.open {
			return n
		}
		return nil
	}
	n.mark[walk] = visited{open: true}
	for _, next := range n.same {
		if c := next.findCycle(); c != nil {
			return c
		}
	}
	n.mark[walk] = visited{}
	return nil
}

// expandedRefs counts the references if every reference is expanded, until a schema contains
// itself.
func (g *graph) expandedRefs() int64 { return g.order[0].countRefs().steps }

func (n *node) countRefs() cost {
	const walk = "refs"
	if v, ok := n.mark[walk]; ok {
		return v.cost
	}
	n.mark[walk] = visited{}
	total := cost{steps: int64(n.refs)}
	for _, list := range [2][]*node{n.same, n.kids} {
		for _, next := range list {
			total = total.plus(next.countRefs())
		}
	}
	n.mark[walk] = visited{cost: total}
	return total
}

// bound is the highest cost of a document with given measures.
type bound struct{ per cost }

// unbounded is the bound if documents of the same measures differ too much.
var unbounded = bound{cost{steps: 1 << 62}}

// bound returns the lower of two bounds. A schema that does not contain itself applies each of its
// expanded parts to each value at most once. A schema that applies at most one part to each child
// applies to each value what one value can meet, even if it is recursive.
func (g *graph) bound() bound {
	widest := cost{}
	single := true
	for _, n := range g.order {
		widest = widest.most(n.sameCost())
		single = single && n.fanOut() <= 1
	}
	if single {
		return bound{widest}
	}
	if total, ok := g.order[0].allCost(); ok {
		return bound{total}
	}
	return unbounded
}

// sameCost is the cost of a schema and of everything that it applies to the same value.
func (n *node) sameCost() cost {
	return n.sum("same", func(n *node) cost { return n.own }, (*node).sameCost)
}

// fanOut is how many schemas at most are applied to one child by a schema and by everything that it
// applies to the same value.
func (n *node) fanOut() int64 { return max(n.objectFan().steps, n.arrayFan().steps) }

func (n *node) objectFan() cost {
	return n.sum("objects", func(n *node) cost {
		named := len(n.props) > 0 || n.rest != nil
		return cost{steps: int64(len(n.match)) + count(named, n.names != nil, n.uneval[0] != nil)}
	}, (*node).objectFan)
}

func (n *node) arrayFan() cost {
	return n.sum("arrays", func(n *node) cost {
		listed := len(n.items) > 0 || n.more != nil
		return cost{steps: int64(len(n.every)) + count(listed, n.uneval[1] != nil)}
	}, (*node).arrayFan)
}

func count(truths ...bool) (n int64) {
	for _, t := range truths {
		if t {
			n++
		}
	}
	return n
}

// sum adds a cost over everything that n applies to the same value, as often as it is applied.
func (n *node) sum(walk string, own func(*node) cost, of func(*node) cost) cost {
	if v, ok := n.mark[walk]; ok {
		return v.cost
	}
	n.mark[walk] = visited{} // a dynamic reference may lead back here; the library stops at it
	total := own(n)
	for _, next := range n.same {
		total = total.plus(of(next))
	}
	for _, targets := range n.late {
		worst := cost{}
		for _, t := range targets {
			worst = worst.most(of(t))
		}
		total = total.plus(worst)
	}
	n.mark[walk] = visited{cost: total}
	return total
}

// allCost is the cost of a schema and of everything below it. It returns false if the schema is
// recursive.
func (n *node) allCost() (cost, bool) {
	const walk = "all"
	if v, ok := n.mark[walk]; ok {
		return v.cost, !v.open
	}
	n.mark[walk] = visited{open: true}
	if len(n.late) > 0 {
		return cost{}, false
	}
	total := n.own
	for _, list := range [2][]*node{n.same, n.kids} {
		for _, next := range list {
			c, ok := next.allCost()
			if !ok {
				return cost{}, false
			}
			total = total.plus(c)
		}
	}
	n.mark[walk] = visited{cost: total}
	return total, true
}

// instructionsPerStep is how many instructions of a regular expression run on a byte in the time of
// a step.
const instructionsPerStep = 32

// bytesPerStep is how many bytes of a string are read in the time of a step. formatPasses is how
// often the most expensive format reads a string.
const (
	bytesPerStep = 128
	formatPasses = 2
)

// of is the cost of a document of a size.
func (b bound) of(s size) int64 {
	values := add(int64(s.values), 8*int64(s.numbers))
	steps := mul(values, add(b.per.steps, mul(b.per.unique, int64(s.depth)+1)))
	steps = add(steps, mul(int64(s.bytes), b.per.text)/bytesPerStep)
	return add(steps, mul(int64(s.bytes), b.per.pattern)/instructionsPerStep)
}

// mayExceed reports whether a document within the limits may cost too much, so that its steps must
// be counted.
func (b bound) mayExceed(l Limits) bool {
	return b.of(size{bytes: l.Bytes, values: l.Values, depth: l.Depth, numbers: l.Values}) > int64(l.Steps)
}
