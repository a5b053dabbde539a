package jsonschema

import "encoding/json"

// meter counts the steps of validating one document. It never counts too few. It is used for
// documents whose measures do not give the answer. Its own work is at most the steps that it
// allows.
type meter struct {
	known map[pair]int64
	left  int64 // visits that are left
	most  int64

	unevaluated bool // the schema has "unevaluatedItems" somewhere
}

type pair struct {
	schema *node
	value  *part
}

// part is a value of a document with an identity of its own.
type part struct {
	value any
	props map[string]*part
	items []*part
	below int64 // values in it, itself included
}

func newPart(v any) *part {
	p := &part{value: v, below: 1}
	switch v := v.(type) {
	case map[string]any:
		p.props = make(map[string]*part, len(v))
		for name, value := range v {
			p.props[name] = newPart(value)
			p.below += p.props[name].below
		}
	case []any:
		p.items = make([]*part, len(v))
		for i, value := range v {
			p.items[i] = newPart(value)
			p.below += p.items[i].below
		}
	}
	return p
}

// exceeds reports whether validating v takes more than most steps.
func (g *graph) exceeds(v any, most int) bool {
	m := meter{known: map[pair]int64{}, left: int64(most), most: int64(most), unevaluated: g.unevaluated}
	return m.price(g.order[0], newPart(v)) > m.most
}

func (m *meter) price(n *node, p *part) int64 {
	if m.left--; m.left < 0 {
		return m.most + 1
	}
	if len(n.same) == 0 && len(n.late) == 0 && len(n.kids) == 0 {
		return m.own(n, p)
	}
	at := pair{n, p}
	if price, ok := m.known[at]; ok {
		return price
	}
	m.known[at] = 1 // the cost of a dynamic reference that leads back here; the library stops at it
	total := m.own(n, p)
	for _, next := range n.same {
		if total = add(total, m.price(next, p)); total > m.most {
			return total
		}
	}
	for _, targets := range n.late {
		worst := int64(0)
		for _, t := range targets {
			worst = max(worst, m.price(t, p))
		}
		total = add(total, worst)
	}
	if total <= m.most {
		total = add(total, m.properties(n, p, m.most-total))
	}
	if total <= m.most {
		total = add(total, m.items(n, p, m.most-total))
	}
	m.known[at] = total
	return total
}

func (m *meter) own(n *node, p *part) int64 {
	total := add(n.own.steps, mul(n.own.unique, p.below))
	switch v := p.value.(type) {
	case string:
		total = add(total, mul(int64(len(v)), n.own.text)/bytesPerStep)
		if re, ok := n.schema.Pattern.(*pattern); ok {
			total = add(total, int64(len(v))*re.instructions/instructionsPerStep)
		}
		if isRegexFormat(n.schema) {
			total = add(total, regexSteps(v))
		}
	case json.Number:
		for _, c := range v {
			if c == 'e' || c == 'E' {
				total = add(total, 8)
			}
		}
	case map[string]any:
		total = add(total, int64(len(v))/8)
	case []any:
		if m.unevaluated { // every schema that is applied to the array gets a set of its items
			total = add(total, int64(len(v))/8)
		}
	}
	return total
}

func (m *meter) properties(n *node, p *part, most int64) int64 {
	total := int64(0)
	for name, child := range p.props {
		if total > most {
			return total
		}
		taken := false
		if to := n.props[name]; to != nil {
			taken = true
			total = add(total, m.price(to, child))
		}
		for _, pn := range n.match {
			total = add(total, 1+int64(len(name))*pn.re.instructions/instructionsPerStep)
			if len(name) <= pn.re.maxInput && pn.re.Regexp.MatchString(name) {
				taken = true
				total = add(total, m.price(pn.to, child))
			}
		}
		if n.rest != nil && !taken {
			total = add(total, m.price(n.rest, child))
		}
		if n.uneval[0] != nil {
			total = add(total, m.price(n.uneval[0], child))
		}
		if n.names != nil {
			total = add(total, m.price(n.names, &part{value: name, below: 1}))
		}
	}
	return total
}

func (m *meter) items(n *node, p *part, most int64) int64 {
	total := int64(0)
	for i, child := range p.items {
		if total > most {
			return total
		}
		if i < len(n.items) {
			total = add(total, m.price(n.items[i], child))
		} else if n.more != nil {
			total = add(total, m.price(n.more, child))
		}
		for _, to := range n.every {
			total = add(total, m.price(to, child))
		}
		if n.uneval[1] != nil {
			total = add(total, m.price(n.uneval[1], child))
		}
	}
	return total
}
