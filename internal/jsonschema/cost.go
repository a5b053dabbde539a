package jsonschema

import lib "github.com/santhosh-tekuri/jsonschema/v6"

// cycle returns a schema that applies itself to the same value without end, or nil. Dynamic references are left out:
// where they lead depends on the way taken.
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

// expandedRefs counts the references met when every reference is written out, up to where a schema meets itself.
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

// bound says what any document costs at most, from its measures alone.
type bound struct{ per cost }

// unbounded is the price where documents of the same measures differ too much to tell.
var unbounded = bound{cost{steps: 1 << 62}}

// bound finds the cheapest of two bounds. A schema that never meets itself applies each of its expanded parts to each
// value once at most. A schema that applies one part at most to each child applies what one value can meet to each
// value once at most, even if it is recursive.
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

// sameCost is the price of a schema and of all that it applies to the same value.
func (n *node) sameCost() cost {
	return n.sum("same", func(n *node) cost { return n.own }, (*node).sameCost)
}

// fanOut is the most schemas that one child can meet on behalf of a schema and of all it applies to the same value.
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

// sum adds up something over all that n applies to the same value, each as often as it is applied.
func (n *node) sum(walk string, own func(*node) cost, of func(*node) cost) cost {
	if v, ok := n.mark[walk]; ok {
		return v.cost
	}
	n.mark[walk] = visited{} // a dynamic reference may lead back here; the library stops at that
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

// allCost is the price of a schema and of all below it; false if it is recursive.
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

// instructionsPerStep is how many instructions of a regular expression are applied to a byte in the time of a step.
const instructionsPerStep = 32

// bytesPerStep is how many bytes of a string are passed over in the time of a step, and formatPasses how often the most
// careful of the formats passes over one.
const (
	bytesPerStep = 128
	formatPasses = 2
)

// of is the price of a document of some size.
func (b bound) of(s size) int64 {
	values := add(int64(s.values), 8*int64(s.numbers))
	steps := mul(values, add(b.per.steps, mul(b.per.unique, int64(s.depth)+1)))
	steps = add(steps, mul(int64(s.bytes), b.per.text)/bytesPerStep)
	return add(steps, mul(int64(s.bytes), b.per.pattern)/instructionsPerStep)
}

// mayExceed tells whether some document within the limits may cost too much, so that it must be looked at closely.
func (b bound) mayExceed(l Limits) bool {
	return b.of(size{bytes: l.Bytes, values: l.Values, depth: l.Depth, numbers: l.Values}) > int64(l.Steps)
}
