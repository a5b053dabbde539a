package eval

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
)

// A gate that is undecided may be asked again with one more trial of each case. No more candidates that are worse by the
// margin pass than reports say: in each setting every night, and in all settings together in each run. The seeds are fixed.
func TestLooks(t *testing.T) {
	if testkit.Race {
		t.Skip("the simulation has no goroutines for the race detector to look at, and takes many times as long with it")
	}
	const looks = 5
	suites := testkit.Size(60, 4000)
	var all [looks]int
	settings := 0
	t.Logf("%-40s %4s  false passes at the first look and at one of two, three, …, in %%", "rows, change", "rows")
	for i, m := range rateModels {
		for k, c := range changes {
			truth := c.truth(m)
			if truth >= 0 {
				continue
			}
			for _, rows := range testkit.Size([]int{100}, []int{30, 100, 300}) {
				r := rand.New(rand.NewPCG(29, uint64(1000*i+100*k+rows)))
				var passed [looks]int
				for range suites {
					before, after := make([]float64, rows), make([]float64, rows)
					pairs := make([]pairedTrials, rows)
					for row := range pairs {
						before[row] = m.draw(r)
						after[row] = c.apply(r, m, before[row])
					}
					for look := range looks {
						for row := range pairs {
							p := &pairs[row]
							p.TrialsA, p.TrialsB = look+1, look+1
							if r.Float64() < before[row] {
								p.PassedA++
							}
							if r.Float64() < after[row] {
								p.PassedB++
							}
						}
						if _, bounds := differenceOf(pairs); bounds.Low > truth {
							for later := look; later < looks; later++ {
								passed[later]++
							}
							break
						}
					}
				}
				line := ""
				for look, n := range passed {
					all[look] += n
					line += fmt.Sprintf(" %5.1f", 100*float64(n)/float64(suites))
				}
				settings += suites
				t.Logf("%-40s %4d %s", m.name+", "+c.name, rows, line)
				for look, n := range passed {
					if share := 100 * float64(n) / float64(suites); testkit.Nightly && share > falsePasses[look]+0.05 {
						t.Errorf("%s, %s, %d rows: %.2f %% pass at one of %d looks", m.name, c.name, rows, share, look+1)
					}
				}
			}
		}
	}
	for look, n := range all {
		if share := 100 * float64(n) / float64(settings); share > falsePasses[look] {
			t.Errorf("%.1f %% pass at one of %d looks", share, look+1)
		}
	}
}
