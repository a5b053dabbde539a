package eval

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// Names of the scores that need no grader.
const (
	scoreCalls     = "calls"
	scoreTokensIn  = "tokens_in"
	scoreTokensOut = "tokens_out"
	scoreSeconds   = "seconds"
	scoreCost      = "cost"
)

var measures = []string{scoreCalls, scoreTokensIn, scoreTokensOut, scoreSeconds, scoreCost}

// recorder collects the scores of one trial.
type recorder struct {
	mu     sync.Mutex
	scores map[string]float64
	err    error

	judged  map[string]string // answers of judges that the trial used
	answers *answers          // of all trials
}

// Score records a score of the trial that is being graded, from 0 to 1, where more is better. A
// [Grader] calls it on its Case, at any time before it returns and on any goroutine. A later score of
// the same name replaces an earlier one. A value must be from 0 to 1. A name must be UTF-8 of 1 to
// 60 bytes, and not the name of a measure, such as calls. Otherwise the trial is not graded: see
// [ErrNotGraded]. Outside of a Grader, Score does nothing.
func (c Case) Score(name string, value float64) {
	r := c.recorder
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case name == "" || len(name) > 60 || !utf8.ValidString(name) || slices.Contains(measures, name):
		r.err = fmt.Errorf("%w: a score cannot have the name %s", ErrNotGraded, shown(name))
	case !(value >= 0 && value <= 1):
		r.err = fmt.Errorf("%w: the score %s is %v and not from 0 to 1", ErrNotGraded, shown(name), value)
	default:
		if r.scores == nil {
			r.scores = map[string]float64{}
		}
		r.scores[name] = value
	}
}

// usage is the tokens that the responses of a run report for a model.
type usage struct {
	Model  string `json:"model,omitempty"`
	Input  int64  `json:"input"`
	Output int64  `json:"output"`
}

// models returns the models that the responses of some trials name.
func models(trials ...Trial) (list []string) {
	found := map[string]bool{"": true}
	for i := range trials {
		for _, u := range trials[i].usage {
			if !found[u.Model] {
				list, found[u.Model] = append(list, u.Model), true
			}
		}
	}
	return list
}

// callsOf counts the requests for tools.
func callsOf(result *dispatchtest.Result) int {
	calls := len(result.Calls)
	for _, c := range result.Refused {
		if !c.Trace {
			calls++
		}
	}
	return calls
}

// maxModel is the limit of the name of a model in bytes: it is kept for each trial.
const maxModel = 200

// usageOf returns the tokens that a response reports, and which of them it does.
func usageOf(body string) (u usage, in, out bool) {
	response := json.RawMessage(body)
	if rawjson.Check(response, rawjson.Limits{Mode: rawjson.Liberal}) != nil { // it reports nothing
		return u, false, false
	}
	metadata := rawjson.Member(response, "metadata")
	u.Model = text.Cut(rawjson.Unquote(rawjson.Member(metadata, "model")), maxModel)
	u.Input, in = count(rawjson.Member(metadata, "total_input_tokens"))
	u.Output, out = count(rawjson.Member(metadata, "total_output_tokens"))
	return u, in, out
}

// count reads a number of tokens, which may be written as 1842.0. Sums of counts do not overflow.
func count(tokens json.RawMessage) (n int64, known bool) {
	v, err := strconv.ParseFloat(string(tokens), 64) // infinite if it is too large; an error if it is no number
	if v < 0 || err != nil && !math.IsInf(v, 1) {
		return 0, false
	}
	return int64(min(v, 1<<40)), true
}

// Prices are the prices of models, by the name that responses report in metadata.model. The price
// of "*" applies to all others, and to responses that name no model. The zero value has none.
type Prices struct{ of map[string]price }

// price is what a million tokens cost.
type price struct{ input, output float64 }

// ParsePrices reads what a million tokens of each model cost, in any currency:
// {"small-2": {"input": 0.25, "output": 2}, "*": {"input": 3, "output": 15}}.
func ParsePrices(data []byte) (Prices, error) {
	none, prices := Prices{}, Prices{map[string]price{}}
	if err := rawjson.Check(data, rawjson.Limits{}); err != nil {
		return none, fmt.Errorf("eval: the prices cannot be read: %w", err)
	}
	for model, raw := range rawjson.Members(data) {
		p := price{-1, -1}
		wrong := rawjson.ReadFields(raw, map[string]any{"input": &p.input, "output": &p.output})
		if len(wrong) > 0 || p.input < 0 || p.output < 0 {
			return none, fmt.Errorf(`eval: the price of %s is not {"input": …, "output": …} with numbers that are not negative`, shown(model))
		}
		prices.of[model] = p
	}
	if len(prices.of) == 0 {
		return none, fmt.Errorf(`eval: the prices are not an object of models, such as {"*": {"input": 3, "output": 15}}`)
	}
	return prices, nil
}

// cost returns what tokens cost, if the models have a price.
func (p Prices) cost(list []usage) (cost float64, known bool) {
	for _, u := range list {
		price, listed := p.of[u.Model]
		if !listed {
			price, listed = p.of["*"]
		}
		if !listed {
			return 0, false
		}
		cost += (float64(u.Input)*price.input + float64(u.Output)*price.output) / 1e6
	}
	return cost, len(list) > 0 && cost <= maxMeasure
}

// maxMeasure is the limit of a measure. The moments of larger numbers may overflow.
const maxMeasure = 1e50

// SetPrices sets the score cost of each trial whose responses report all tokens, and whose models have a
// price. The cost of other trials is unknown. To compare costs, set the prices of both experiments.
func (e *Experiment) SetPrices(prices Prices) {
	for i := range e.Trials {
		e.Trials[i].price(prices)
	}
}

// price sets the score cost of the trial.
func (t *Trial) price(prices Prices) {
	delete(t.Scores, scoreCost)
	if cost, known := prices.cost(t.usage); known && t.Scores != nil {
		t.Scores[scoreCost] = cost
	}
}

// score returns the figure of a score.
func (e *Experiment) score(name string) Figure {
	cases, known, unknown := e.scored(name, math.Inf(1))
	var means units
	for _, c := range cases {
		means.add(c.group, c.mean)
	}
	f := Figure{Name: name, Unknown: unknown}.over(&means, known)
	if !isMeasure(name) {
		return f.with(meanRate(means.values(), known))
	}
	mean, i, ok := meanAmount(means.values())
	if !ok {
		return f.unbounded(mean)
	}
	i.Low = max(0, i.Low)
	return f.with(mean, i)
}

func isMeasure(name string) bool { return slices.Contains(measures, name) }

// scoreNames returns the names of all scores that are known in a trial that ended.
func (e *Experiment) scoreNames() []string {
	found := map[string]bool{}
	if !e.firstFailure {
		for i := range e.Trials {
			if e.Trials[i].counts() {
				for name := range e.Trials[i].Scores {
					found[name] = true
				}
			}
		}
	}
	names := slices.Sorted(maps.Keys(found))
	slices.SortStableFunc(names, func(a, b string) int { return slices.Index(measures, a) - slices.Index(measures, b) })
	return names
}

// scored is a score of one case: the mean over its trials.
type scored struct {
	id, group string
	mean      float64
	trials    int
}

// scored returns a score, which is cut at a limit in each trial, of the cases in which it is known, and how many
// trials that ended have it.
func (e *Experiment) scored(name string, limit float64) (cases []scored, known, unknown int) {
	for _, trials := range caseTrials(e.Trials) {
		c := scored{id: trials[0].ID, group: trials[0].Group}
		for i := range trials {
			t := &trials[i]
			if !t.counts() {
				continue
			}
			if v, is := t.Scores[name]; is {
				c.mean, c.trials = c.mean+min(v, limit), c.trials+1
			} else {
				unknown++
			}
		}
		if c.trials > 0 {
			c.mean /= float64(c.trials)
			cases, known = append(cases, c), known+c.trials
		}
	}
	return cases, known, unknown
}

// compareScores compares all scores that both experiments have.
func compareScores(baseline, candidate *Experiment) (list []Comparison) {
	for _, name := range candidate.scoreNames() {
		if c, ok := compareScore(baseline, candidate, name, math.Inf(1)); ok {
			list = append(list, c)
		}
	}
	return list
}

// compareScore compares a score, which is cut at a limit in each trial, in the cases in which both experiments know it.
// ok is false if there are none.
func compareScore(baseline, candidate *Experiment, name string, limit float64) (c Comparison, ok bool) {
	old, _, unknown := baseline.scored(name, limit)
	now, _, more := candidate.scored(name, limit)
	c, before, after, differences := paired(Figure{Name: name}, old, now)
	if len(differences) == 0 {
		return c, false
	}
	c.Baseline.Unknown, c.Candidate.Unknown, c.Difference.Unknown = unknown, more, unknown+more
	if !math.IsInf(limit, 1) {
		c.limit = limit
	}
	c.compareMeans(before, after, differences, limit)
	return c, true
}

// compareMeans sets the values of a comparison of scores, from the means of cases or groups.
func (c *Comparison) compareMeans(before, now, differences []float64, limit float64) {
	name := c.Difference.Name
	a, _, _ := meanAmount(before)
	b, _, _ := meanAmount(now)
	c.Baseline, c.Candidate = c.Baseline.unbounded(a), c.Candidate.unbounded(b)
	c.Verdict = CannotTell
	if !isMeasure(name) {
		c.Difference = c.Difference.with(meanDifference(differences, c.Difference.Trials))
		c.Verdict = verdictOn(c.Difference)
		return
	}
	c.Difference.unit = unitRatio
	switch r, i, ok := ratioOfAmounts(before, now, limit); {
	case a == 0 && b == 0 && len(before) > 1:
		c.Difference = c.Difference.with(0, interval{})
	case ok:
		c.Difference = c.Difference.with(r-1, interval{i.Low - 1, i.High - 1})
		c.Verdict = verdictOn(c.Difference.negative())
	default:
		c.Difference = c.Difference.unbounded(0)
	}
	if name == scoreSeconds {
		c.Verdict = "" // all rows of a run share the load of the machine, so the interval is too short
	}
}

// scores formats both means and the difference.
func (c *Comparison) scores() string {
	line := fmt.Sprintf("%s to %s", amount(c.Baseline.Value), amount(c.Candidate.Value))
	if c.Difference.bounded() {
		line += ": " + c.Difference.difference()
	}
	return line
}
