package figures_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/export/figure"
	"github.com/headwater-ml/headwater/internal/figures"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// docs is where make gallery writes.
const docs = "../../docs"

// The gallery of the documentation is current: the whole page, with every picture. What comes from
// a full sample of sentences takes minutes, so of these figures the verdicts are the recorded ones,
// and the numbers of other tables and notes, and what a picture shows, are not compared.
func TestGallery(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(docs, "figures.md"))
	must(t, err)
	var all []*reproduction.Reproduction
	images, sampled := map[string][]figures.Image{}, map[string]*reproduction.Reproduction{}
	for _, f := range figures.All() {
		r := reducedFigure(t, f)
		if r.Reduced {
			r = asRecorded(r)
			sampled[r.ID] = r
		}
		all, images[r.ID] = append(all, r), drawnPictures(t, r)
	}
	got := sections(string(file))
	want := sections(string(figures.Gallery(all, images, "figures")))
	if len(got) != len(want) {
		t.Errorf("the gallery has %d sections, want %d; run make gallery", len(got), len(want))
	}
	for i, section := range want[:min(len(got), len(want))] {
		title, _, _ := strings.Cut(section, "\n")
		have := got[i]
		if r := sampled[strings.TrimPrefix(title, "## ")]; r != nil {
			section, have = withoutSample(r, section), withoutSample(r, have)
		}
		if diff := cmp.Diff(section, have); diff != "" {
			t.Errorf("%s: the gallery is not current; run make gallery (-want +have):\n%s", title,
				diff)
		}
	}
	pictures(t, images, sampled)
}

// sections returns what stands before the first figure of a page, and the section of each figure.
func sections(page string) []string {
	parts := strings.Split(page, "\n## ")
	for i := range parts[1:] {
		parts[i+1] = "## " + parts[i+1]
	}
	return parts
}

// withoutSample returns the section of a figure with # in the place of the numbers that depend on
// the sample: those that stand neither above the pictures nor among the verdicts.
func withoutSample(r *reproduction.Reproduction, section string) string {
	head, rest, _ := strings.Cut(section, "\n![")
	verdicts := figures.VerdictTable(r)
	before, after, found := strings.Cut(rest, verdicts)
	if !found {
		return section
	}
	return head + "\n![" + number.ReplaceAllString(before, "#") + verdicts +
		number.ReplaceAllString(after, "#")
}

// pictures compares the files of pictures with what is drawn now: of sampled figures that they are
// there, of others what they show.
func pictures(
	t *testing.T, images map[string][]figures.Image, sampled map[string]*reproduction.Reproduction,
) {
	t.Helper()
	wanted := map[string]bool{}
	for id, some := range images {
		for _, i := range some {
			wanted[i.Name+".svg"] = true
			file, err := os.ReadFile(filepath.Join(docs, "figures", i.Name+".svg"))
			if err != nil || sampled[id] == nil && !alike(string(file), string(i.SVG)) {
				t.Errorf("%s.svg is not current (%v); run make gallery", i.Name, err)
			}
		}
	}
	files, err := os.ReadDir(filepath.Join(docs, "figures"))
	must(t, err)
	for _, f := range files {
		if !wanted[f.Name()] {
			t.Errorf("docs/figures/%s is of no figure; remove it", f.Name())
		}
	}
}

// A reason that checks share is written once, and so is a claim about several things.
func TestSharedReasons(t *testing.T) {
	r := &reproduction.Reproduction{}
	for _, c := range []struct{ claim, why string }{
		{"flow: mean", "depth"}, {"M has a shape: [2]", ""}, {"raw: mean", ""}, {"one", "noise"},
		{"rollout: mean", "depth"}, {"two", "noise"}, {"norms: mean", ""}, {"three", ""},
	} {
		check := reproduction.Check{
			Claim: c.claim, Stated: "1", Found: "2", Why: c.why, Verdict: reproduction.Differs,
		}
		if c.why == "" && c.claim != "three" {
			check.Verdict = reproduction.Agrees
		}
		r.Checks = append(r.Checks, check)
	}
	const want = `Agrees: 3 claims.

Differs:

- mean: flow (2, stated 1); rollout (2, stated 1). depth
- one (2, stated 1); two (2, stated 1). noise
- three (2, stated 1)
`
	if diff := cmp.Diff(want, figures.VerdictTable(r)); diff != "" {
		t.Errorf("the lists (-want +got):\n%s", diff)
	}
}

// number is a number of a drawing.
var number = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?`)

// alike reports whether two drawings are the same but for a hundredth of a point: on another
// processor, sums in another order move a point by less.
func alike(a, b string) bool {
	const most = 0.01
	if number.ReplaceAllString(a, "#") != number.ReplaceAllString(b, "#") {
		return false
	}
	of := number.FindAllString(b, -1)
	for i, text := range number.FindAllString(a, -1) {
		x, err := strconv.ParseFloat(text, 64)
		y, err2 := strconv.ParseFloat(of[i], 64)
		if err != nil || err2 != nil || math.Abs(x-y) > most*1.001 {
			return false
		}
	}
	return true
}

// TestAlike: what another processor draws is alike, and what another figure draws is not.
func TestAlike(t *testing.T) {
	const drawing = `<path d="M425.8,94.782L-3.5e-05,90" style="fill:#12151A" />`
	for other, want := range map[string]bool{
		drawing: true,
		`<path d="M425.81,94.783L-3.5e-05,90" style="fill:#12151A" />`: true,
		`<path d="M425.82,94.782L-3.5e-05,90" style="fill:#12151A" />`: false,
		`<path d="M425.8,94.782L-3.5e-05,90" style="fill:#12161A" />`:  false,
		`<path d="M425.8,94.782L-3.5e-05" style="fill:#12151A" />`:     false,
	} {
		if got := alike(drawing, other); got != want {
			t.Errorf("%s is alike: %v, want %v", other, got, want)
		}
	}
}

// drawnPictures draws the pictures of a figure as the gallery has them.
func drawnPictures(t *testing.T, r *reproduction.Reproduction) []figures.Image {
	t.Helper()
	var images []figures.Image
	for i, p := range r.Pictures {
		drawn, err := figures.Draw(r, i, figure.Options{Format: figure.SVG}, "")
		must(t, err)
		images = append(images, figures.Image{Name: r.Name(p.Name), SVG: drawn.Bytes})
	}
	return images
}

// asRecorded returns a figure with what was recorded from the full sample in the place of what came
// out.
func asRecorded(r *reproduction.Reproduction) *reproduction.Reproduction {
	full := *r
	full.Reduced = false
	full.Checks = slices.Clone(r.Checks)
	for _, rec := range figures.Recorded() {
		for i, c := range full.Checks {
			if rec.Figure == r.ID && rec.Check == c.ID {
				c.Found, c.Verdict, c.Why = rec.Found, rec.Verdict, rec.Why
				full.Checks[i] = c
			}
		}
	}
	return &full
}
