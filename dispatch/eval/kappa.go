package eval

import "math"

// raters counts cases by what two raters say of them, in shares of cases if there are several trials.
type raters struct{ BothPass, FirstPasses, SecondPasses, BothFail float64 }

func (t raters) cases() float64 { return t.BothPass + t.FirstPasses + t.SecondPasses + t.BothFail }

// cohensKappa returns Cohen's kappa, the agreement beyond chance, and its interval. ok is false if one
// of the raters says the same of all cases, or if there are fewer than two.
//
// The interval follows Fleiss, Cohen and Everitt (Psychological Bulletin 72:323, 1969), for the table
// with one case more in each of the four cells: without them it is much too short where raters nearly
// always agree, and where nearly all cases pass.
func cohensKappa(t raters) (kappa float64, bounds interval, ok bool) {
	kappa, _ = t.kappa()
	n := t.cases()
	first, second := t.BothPass+t.FirstPasses, t.BothPass+t.SecondPasses
	cases := int(math.Round(n)) // a sum of shares such as 1/3 is not whole
	if cases < 2 || first == 0 || first == n || second == 0 || second == n {
		return 0, interval{-1, 1}, false
	}
	centre, deviation := raters{t.BothPass + 1, t.FirstPasses + 1, t.SecondPasses + 1, t.BothFail + 1}.kappa()
	half := studentQuantile(0.975, cases-1) * deviation
	return kappa, interval{max(-1, centre-half), min(1, centre+half)}, true
}

// kappa returns the estimate and its standard deviation for many cases.
func (t raters) kappa() (kappa, deviation float64) {
	n := t.cases()
	pp, pf, fp, ff := t.BothPass/n, t.FirstPasses/n, t.SecondPasses/n, t.BothFail/n
	first, second := pp+pf, pp+fp
	chance := first*second + (1-first)*(1-second)
	kappa = (pp + ff - chance) / (1 - chance)
	square := func(x float64) float64 { return x * x }
	same := pp*square(1-(first+second)*(1-kappa)) + ff*square(1-(2-first-second)*(1-kappa))
	other := square(1-kappa) * (pf*square(second+1-first) + fp*square(first+1-second))
	variance := (same + other - square(kappa-chance*(1-kappa))) / (n * square(1-chance))
	return kappa, math.Sqrt(max(0, variance))
}
