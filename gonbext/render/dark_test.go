package render

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestDarkContrast holds every colour of a dark page to the contrast of text, and the ramps to even
// steps: from next to the page on up.
func TestDarkContrast(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range restyles {
		if got := contrast(r.dark.background, r.dark.text); got < minContrast {
			t.Errorf("%s: text %v on %v has contrast %.2f, want %v", r.light, r.dark.text,
				r.dark.background, got, minContrast)
		}
		if seen[r.light] {
			t.Errorf("%s has two rules", r.light)
		}
		seen[r.light] = true
	}
	for name, anchors := range map[string][5][3]float64{"blue": darkBlueArm, "rust": darkRustArm} {
		colors := arm(anchors)
		first, last := lightness(colors[0].background), lightness(colors[steps].background)
		if first > 17 || last < 75 {
			t.Errorf("%s: lightness from %.1f to %.1f, want from 17 or less to 75 or more", name,
				first, last)
		}
		for i := 1; i <= steps; i++ {
			rise := lightness(colors[i].background) - lightness(colors[i-1].background)
			even := (last - first) / steps
			if rise < 0.5*even || rise > 1.6*even {
				t.Errorf("%s: step %d rises by %.2f in lightness, even would be %.2f", name, i,
					rise, even)
			}
		}
	}
	if arm(darkBlueArm)[0] != arm(darkRustArm)[0] {
		t.Error("the arms do not begin at the same neutral")
	}
}

var colored = regexp.MustCompile(
	`style="(background-color:rgb\(\d+,\d+,\d+\);color:rgb\(\d+,\d+,\d+\))`,
)

// TestDarkPage looks for a rule for every style of a page, and for the picture itself, which has
// the bytes that a notebook shows.
func TestDarkPage(t *testing.T) {
	for name, h := range map[string]HTML{
		"heatmap": {Heatmap: Heatmap{Explanation: example(), Filter: attribution.Filter{"the"}}},
		"lift":    {Heatmap: Heatmap{Explanation: lifted()}},
		"encoder": {Heatmap: Heatmap{Explanation: encoded(trace.MaskedToken)}},
		"class":   {Heatmap: Heatmap{Explanation: encoded(trace.Classes)}},
		"long":    {Heatmap: Heatmap{Explanation: long(500)}},
		"nothing": {},
	} {
		page, picture := written(t, Page{HTML: h}), written(t, h)
		if !strings.Contains(page, picture) {
			t.Errorf("%s: the picture of a page is not that of a notebook", name)
		}
		_, rest, _ := strings.Cut(page, "<style>")
		sheet, body, ok := strings.Cut(rest, "</style>")
		if !ok || strings.Contains(sheet, "<") || strings.Contains(body, "<style") ||
			neverInside.MatchString(sheet) {
			t.Errorf("%s: style sheet %q", name, sheet)
		}
		rules := 0
		for _, m := range colored.FindAllStringSubmatch(page, -1) {
			if !strings.Contains(sheet, fmt.Sprintf("[style^=%q]{", m[1])) {
				t.Errorf("%s: no rule for %s", name, m[1])
			}
			rules++
		}
		if n := strings.Count(sheet, "[style^="); rules == 0 || n > rules {
			t.Errorf("%s: %d rules for %d styles", name, n, rules)
		}
	}
}
