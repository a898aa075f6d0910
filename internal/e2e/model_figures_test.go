package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/train"
)

// TestModelFigures compares the figures of the later embedded models with the reports of their
// training.
func TestModelFigures(t *testing.T) {
	var b strings.Builder
	total := 0
	for _, m := range tiny.Models() {
		if m.Name == tiny.Name {
			continue
		}
		data, err := fs.ReadFile(m.Files(), "report.json")
		must(t, err)
		r := &train.Report{}
		must(t, json.Unmarshal(data, r))
		fmt.Fprintf(&b, "`%s`:\n\n%s%s\n", m.Name, modelTable(m, r), firstTokenLine(r))
		total += size(t, m.Files())
	}
	fmt.Fprintf(&b, "The files of these models have %.1f MB together.\n", float64(total)/1e6)
	part(t, toysPage, "model figures", b.String())
}

// size returns how many bytes the files have.
func size(t *testing.T, files fs.FS) int {
	t.Helper()
	total := 0
	err := fs.WalkDir(files, ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += int(info.Size())
		}
		return err
	})
	must(t, err)
	return total
}

// modelTable is the table of a report. What a masked model gets right are minimal pairs, and so are
// the first words of translations.
func modelTable(m tiny.Model, r *train.Report) string {
	if m.Task == tiny.NextWord {
		return figures(r)
	}
	table := figures(r)
	if m.Task == tiny.WholeText {
		return strings.Replace(table, "right by argmax", "right class", 1)
	}
	what := "The right word is the most probable of all words"
	if m.Task == tiny.Translation {
		what = "Every word of the translation is the most probable one"
	}
	table = strings.Replace(table, "right by argmax", "right word over wrong", 1)
	var first []string
	for _, s := range r.HeldOut {
		first = append(first, fmt.Sprintf("%s %.1f %%", s.Kind, 100*s.First))
	}
	return table + "\n" + what + ", on held-out combinations: " + strings.Join(first, ", ") + ".\n"
}

// firstTokenLine returns how much a decoder's heads look at the first token.
func firstTokenLine(r *train.Report) string {
	f := r.FirstToken
	if f == nil {
		return ""
	}
	most, at := -1.0, [2]int{}
	for l, shares := range f.Share {
		for h, x := range shares {
			if x > most {
				most, at = x, [2]int{l, h}
			}
		}
	}
	return fmt.Sprintf("\nOn %d held-out texts, the number of heads whose largest attention is on "+
		"the first token in at least half of the rows is %d of %d. Head %d of layer %d does so "+
		"most, in %.1f %% of the rows. A head that never does so has %.1f %%, because row 0 sees "+
		"nothing else.\n",
		f.Texts, f.Heads, len(f.Share)*len(f.Share[0]), at[1], at[0], 100*most, 100*f.Least)
}
