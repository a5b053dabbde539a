package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/toolwire/toolwire/internal/text"
)

// A Figure is a number about the trials of an experiment, or the difference of two, with its 95 %
// confidence interval. The unit of the interval is the case, because the trials of one case are not
// independent, or the group, if cases have one: a figure is the mean over groups of the mean over their
// cases.
type Figure struct {
	// Name is one of these, or the name of a score, see [Experiment.Figures]:
	//
	//	rate      the share of trials that pass
	//	all_of_3  the probability that three trials of a case all pass: pass^k of arXiv 2406.12045
	//	any_of_3  the probability that one of three trials passes: pass@k of arXiv 2107.03374
	//	always    the share of cases of which all trials passed
	Name string `json:"name"`

	// Slice is the part of the experiment: "column=value", or the id of a case. It is "" for the whole.
	Slice string `json:"slice,omitempty"`

	// Faults is "counted" if faults count as failures, "dropped" if they are left out, and "" if neither is so.
	Faults string `json:"faults,omitempty"`

	Cases   int `json:"cases"`
	Trials  int `json:"trials"`
	Unknown int `json:"unknown,omitempty"` // trials that ended and have no such score; they are not in the others

	// Value is the estimate. Low and High are NaN if the cases do not bound it.
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`

	unit   string
	groups int // of these cases, if cases have one; a case without counts as one
}

// Values of Figure.unit and Figure.Faults. A share is a probability, or the difference of two, and a
// ratio the difference of a measure as a share of the baseline.
const (
	unitShare = "share"
	unitRatio = "ratio"

	counted = "counted"
	dropped = "dropped"
)

// with sets the value and its interval.
func (f Figure) with(value float64, i interval) Figure {
	f.Value, f.Low, f.High = value, i.Low, i.High
	return f
}

// unbounded sets a value that has no interval.
func (f Figure) unbounded(value float64) Figure {
	return f.with(value, interval{math.NaN(), math.NaN()})
}

// over sets what the figure is about.
func (f Figure) over(u *units, trials int) Figure {
	f.Cases, f.Trials, f.groups = u.cases, trials, 0
	if len(u.sums) < u.cases {
		f.groups = len(u.sums)
	}
	return f
}

// bounded reports whether the figure has an interval.
func (f Figure) bounded() bool { return !math.IsNaN(f.Low) }

// negative returns the figure with the other sign.
func (f Figure) negative() Figure { return f.with(-f.Value, interval{-f.High, -f.Low}) }

// units is the number of cases or groups that the interval rests on, and what they are.
func (f Figure) units() (n int, noun string) {
	if f.groups > 0 {
		return f.groups, "group"
	}
	return f.Cases, "case"
}

// MarshalJSON leaves out the bounds of a figure that has none. It adds the unit: "share" for a
// probability and the difference of two, and "ratio" for the difference of a measure as a share of the
// baseline. It also adds the number of groups of cases, if there are any.
func (f Figure) MarshalJSON() ([]byte, error) {
	type plain Figure
	doc := struct {
		plain
		Unit   string   `json:"unit,omitempty"`
		Groups int      `json:"groups,omitempty"`
		Low    *float64 `json:"low,omitempty"`
		High   *float64 `json:"high,omitempty"`
	}{plain: plain(f), Unit: f.unit, Groups: f.groups}
	if f.bounded() {
		doc.Low, doc.High = &f.Low, &f.High
	}
	return json.Marshal(doc)
}

// String returns the value and its interval: 60 % [23, 88] for a share, and otherwise 2.5 [1.2, 3.8].
func (f Figure) String() string {
	if f.unit == unitShare {
		return percent(f.Value) + f.interval(func(v float64) string { return digits(100 * v) })
	}
	return amount(f.Value) + f.interval(amount)
}

// difference formats a difference: -12.5 [-30, +5], in points for shares and in percent for ratios.
func (f Figure) difference() string {
	of := signed
	if f.unit == "" {
		of = amount
	}
	return f.changed() + f.interval(of)
}

// changed is a difference without its interval.
func (f Figure) changed() string {
	switch f.unit {
	case unitShare:
		return signed(f.Value)
	case unitRatio:
		return signed(f.Value) + " %"
	}
	return amount(f.Value)
}

func (f Figure) interval(of func(float64) string) string {
	if !f.bounded() {
		return ""
	}
	return fmt.Sprintf(" [%s, %s]", of(f.Low), of(f.High))
}

// known says in how many trials a score is known.
func (f Figure) known() string {
	if f.Unknown > 0 {
		return fmt.Sprintf("%d, unknown in %d", f.Trials, f.Unknown)
	}
	return fmt.Sprint(f.Trials)
}

// about says how many cases the figure is about.
func (f Figure) about() string {
	if f.groups > 0 {
		return text.Plural(f.Cases, "case") + " of " + text.Plural(f.groups, "group")
	}
	return text.Plural(f.Cases, "case")
}

// percent writes a share.
func percent(v float64) string { return digits(100*v) + " %" }

// digits writes a number with at most one digit after the point, and with up to three where it would
// look like 0 or 100 and is not.
func digits(v float64) string {
	for precision := 1; precision <= 3; precision++ {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', precision, 64), 64)
		if whole := math.Abs(rounded); precision == 3 || whole != 0 && whole != 100 || rounded == v {
			return strconv.FormatFloat(rounded+0, 'f', -1, 64)
		}
	}
	return ""
}

// signed writes a share or a ratio with its sign, in hundredths.
func signed(v float64) string {
	if number := digits(100 * v); v <= 0 || number == "0" {
		return number
	}
	return "+" + digits(100*v)
}

// amount writes a number with at least three digits, without an exponent.
func amount(v float64) string {
	places := 0
	if v != 0 {
		places = min(max(2-int(math.Floor(math.Log10(math.Abs(v)))), 0), 8)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', places, 64), 64)
	return strconv.FormatFloat(rounded+0, 'f', -1, 64)
}
