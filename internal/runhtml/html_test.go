package runhtml

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// The colours of the pages are readable in both schemes: WCAG 2.2 AA asks for 4.5 between text and
// its ground, and for 3 between what has to be recognised and what is around it.
func TestContrast(t *testing.T) {
	light, dark := colours(t, Style, 0), colours(t, Style, 1)
	for name := range light {
		if dark[name] == "" {
			t.Errorf("--%s has no dark colour", name)
		}
	}
	text := [][2]string{{"on-accent", "accent"}}
	for _, ground := range []string{"page", "panel", "sunk"} {
		for _, front := range []string{"text", "light", "accent", "danger", "good", "busy"} {
			text = append(text, [2]string{front, ground})
		}
	}
	for _, name := range []string{"good", "danger", "amber", "warning", "busy", "actor"} {
		text = append(text, [2]string{name, name + "-bg"}, [2]string{"text", name + "-bg"}, [2]string{name, "panel"})
	}
	// What stands on coloured grounds besides.
	text = append(text, [2]string{"light", "amber-bg"}, [2]string{"danger", "amber-bg"}, [2]string{"good", "amber-bg"})
	shapes := [][2]string{{"edge", "page"}, {"edge", "panel"}, {"accent", "page"}, {"accent", "panel"}, {"danger", "page"}}
	for scheme, set := range map[string]map[string]string{"light": light, "dark": dark} {
		for least, pairs := range map[float64][][2]string{4.5: text, 3: shapes} {
			for _, pair := range pairs {
				front, ground := set[pair[0]], set[pair[1]]
				if front == "" || ground == "" {
					t.Fatalf("%s: --%s or --%s is missing", scheme, pair[0], pair[1])
				}
				if got := contrast(t, front, ground); got < least {
					t.Errorf("%s: --%s on --%s has a contrast of %.2f, less than %.1f", scheme, pair[0], pair[1], got, least)
				}
			}
		}
	}
	// No colour stands outside of the two sets.
	if rest := Style[strings.Index(Style, "* { box-sizing"):]; regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|rgb|hsl`).MatchString(rest) {
		t.Error("a colour is not a custom property")
	}
	for _, part := range []string{"prefers-reduced-motion", "prefers-color-scheme: dark", ":focus-visible",
		"max-width: 40rem"} {
		if !strings.Contains(Style, part) {
			t.Errorf("the style has no %s", part)
		}
	}
}

// colours reads the n-th :root block.
func colours(t *testing.T, css string, n int) map[string]string {
	blocks := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(css, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	set := map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(blocks[n][1], -1) {
		set[m[1]] = m[2]
	}
	return set
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	var rgb [3]int
	if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb[i]) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
