package figures_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/figures"
)

// A name can choose another layer, head, rank, or the rows on the first token. The choice is a part
// of the figure's name, and the title of the picture has it.
func TestChoices(t *testing.T) {
	m := open(t, "tiny-alibi")
	for _, c := range []struct{ name, id, title string }{
		{"s3-fig1", "s3-fig1", "Attention, layer 7, head 4"},
		{"s3-fig1,head=2,layer=3", "s3-fig1,layer=3,head=2", "Attention, layer 3, head 2"},
		{
			"s3-fig2,sort_idx=1", "s3-fig2,sort_idx=1",
			"Parts of score 1 (sort_idx, from 0) of each row, layer 7, head 4",
		},
		{"s3-fig3,layer=0", "s3-fig3,layer=0", "Bias and ALiBi, layer 0, head 4"},
		{"s3-fig7,layer=3", "s3-fig7,layer=3", "Update magnitude, layer 3"},
		{"s3-fig9,first=shown", "s3-fig9,first=shown", "Alignment against magnitude, layer 7"},
		{"s3-fig10,layer=07", "s3-fig10,layer=7", "Token effect, layer 7, all heads"},
	} {
		some, err := figures.Find(c.name)
		must(t, err)
		r, err := figures.Make(t.Context(), some[0], m, figures.Options{})
		must(t, err)
		if got := r.Pictures[0].Charts[0].Title; got != c.title || r.ID != c.id {
			t.Errorf("%s: %q is of %s, want %q of %s", c.name, got, r.ID, c.title, c.id)
		}
		for _, x := range figures.Compare(r) {
			if recorded := x.Was != ""; recorded == strings.Contains(c.id, ",") {
				t.Errorf("%s has a record: %v", c.name, recorded)
			}
		}
	}
	// 200 updates without the rows on the first token, and 328 with them, as Figure 7 counts.
	for name, want := range map[string]int{"s3-fig9": 200, "s3-fig9,first=shown": 328} {
		some, err := figures.Find(name)
		must(t, err)
		r, err := figures.Make(t.Context(), some[0], m, figures.Options{})
		must(t, err)
		n := 0
		for _, s := range r.Pictures[0].Charts[0].Series {
			n += len(s.Y)
		}
		if n != want {
			t.Errorf("%s has %d updates, want %d", name, n, want)
		}
	}
}

func TestChoiceErrors(t *testing.T) {
	for name, want := range map[string]string{
		"s3-fig4,layer=1":           `figure s3-fig4 has no choice "layer"; it has no choices`,
		"s3-fig1,sort_idx=1":        `has no choice "sort_idx"; it has layer, head`,
		"s3-fig1,":                  `has no choice ""`,
		"s3-fig1,layer":             "layer=; want a number from 0 on",
		"s3-fig1,layer=-1":          "layer=-1; want a number from 0 on",
		"s3-fig1,layer=1,layer=1":   "has layer twice",
		"s3-fig7,first=1":           "first=1; want left-out or shown",
		"s3,layer=1":                "is unknown",
		"s3-fig1,layer=12":          "layer=12; want 0 to 11 on tiny-alibi",
		"s3-fig2,sort_idx=3":        "sort_idx=3; want 0 to 2",
		"s3-fig10,layer=1000000000": "want 0 to 11",
	} {
		some, err := figures.Find(name)
		if err == nil {
			_, err = figures.Make(t.Context(), some[0], open(t, "tiny-alibi"), figures.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
		if usage := (*trace.UsageError)(nil); !errors.As(err, &usage) {
			t.Errorf("%s: error %T, want a usage error", name, err)
		}
	}
}
