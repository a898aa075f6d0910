package figures_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/gonbext/render/figure"
	"github.com/headwater-ml/headwater/gonbext/render/reproduction"
	"github.com/headwater-ml/headwater/internal/figures"
)

// docs is where make gallery writes.
const docs = "../../docs"

// The gallery of the documentation is current: figures that need no sample are there as drawn now,
// and of the others the claims with the recorded verdicts.
func TestGallery(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(docs, "figures.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures.All() {
		r := reducedFigure(t, f)
		if r.Reduced {
			r = asRecorded(r)
			if !bytes.Contains(page, []byte(r.CheckTable().Markdown())) {
				t.Errorf("%s: the gallery has other verdicts than the record; run make "+
					"gallery", f.ID)
			}
			continue
		}
		images := drawnPictures(t, r)
		one := string(figures.Gallery([]*reproduction.Reproduction{r},
			map[string][]figures.Image{r.ID: images}, "figures"))
		_, section, _ := strings.Cut(one, "\n## "+r.ID)
		if !strings.Contains(string(page), section) {
			t.Errorf("%s: the gallery is not current; run make gallery", f.ID)
		}
		for _, i := range images {
			file, err := os.ReadFile(filepath.Join(docs, "figures", i.Name+".svg"))
			if err != nil || !alike(string(file), string(i.SVG)) {
				t.Errorf("%s.svg is not current (%v); run make gallery", i.Name, err)
			}
		}
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
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, figures.Image{Name: r.Name(p.Name), SVG: drawn.Bytes})
	}
	return images
}

// asRecorded returns a figure with what was recorded from the full sample in the place of what came
// out.
func asRecorded(r *reproduction.Reproduction) *reproduction.Reproduction {
	full := *r
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
