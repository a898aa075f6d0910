package reproduction_test

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

func sample() *reproduction.Reproduction {
	return &reproduction.Reproduction{
		Head: reproduction.Head{ID: "s1-fig1", Claim: "it | holds"}, Model: "tiny",
		Pictures: []reproduction.Picture{{Columns: 1, Drawn: reproduction.Drawn{PNG: []byte{1, 2}}, Charts: []chart.Chart{{
			Kind: chart.Heatmap, Title: "map", X: chart.Axis{Title: "source"},
			Matrix: &chart.Matrix{
				Rows: []string{"a"}, Columns: []string{"b", "c"}, Data: []float64{1, math.NaN()},
			},
		}}}},
		Checks: []reproduction.Check{
			{
				ID: "one", Claim: "=1+1", Stated: "0.5 ± 0.1", Found: "0.4",
				Verdict: reproduction.Agrees,
			},
			{
				ID: "two", Claim: "<b>", Stated: "-1", Found: "2", Verdict: reproduction.Differs,
				Why: "because",
			},
		},
	}
}

// Several figures in one stream come back as they were, gaps included.
func TestReadWrite(t *testing.T) {
	var b bytes.Buffer
	for range 2 {
		if err := sample().Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	got, err := reproduction.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	want := []*reproduction.Reproduction{sample(), sample()}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if _, err := reproduction.Read(strings.NewReader(`{"id":3}`)); err == nil {
		t.Error("a number was read as a name")
	}
}

// The table of checks has no column of reasons if there is none.
func TestCheckTable(t *testing.T) {
	r := sample()
	if n := len(r.CheckTable().Columns); n != 5 {
		t.Errorf("%d columns with a reason, want 5", n)
	}
	r.Checks = r.Checks[:1]
	if n := len(r.CheckTable().Columns); n != 4 {
		t.Errorf("%d columns without a reason, want 4", n)
	}
	r.LeftOut = "it has no mask"
	if v := reproduction.Verdicts(r); v.Rows[0][4] != "left out" {
		t.Errorf("the verdict of a figure that is left out is %q", v.Rows[0][4])
	}
}

// Verdicts are one line in a page until it is opened, and so is a long table; a short one, and one
// without a title, are in sight.
func TestFolded(t *testing.T) {
	r := sample()
	out := sample()
	out.LeftOut, out.Checks = "it has no mask", nil
	short := reproduction.Table{Title: "Costs", Columns: []string{"n"}, Rows: make([][]string, 8)}
	for i := range short.Rows {
		short.Rows[i] = []string{strconv.Itoa(i)}
	}
	long, untitled := short, reproduction.Verdicts(r)
	long.Rows = append(slices.Clone(long.Rows), []string{"8"})
	untitled.Title = ""
	for _, c := range []struct {
		table  reproduction.Table
		folded string // the line in sight, or empty if the table is open
	}{
		{reproduction.Verdicts(r, out), "Claims and verdicts on tiny: 1 of 2 agree, 1 left out"},
		{r.CheckTable(), "Verdicts: 1 of 2 agree"},
		{long, "Costs"},
		{short, ""},
		{untitled, ""},
	} {
		page := c.table.HTML()
		if c.folded == "" {
			if strings.Contains(page, "<details") {
				t.Errorf("%q of %d rows is folded", c.table.Title, len(c.table.Rows))
			}
			continue
		}
		line, rest, _ := strings.Cut(page, "</summary>")
		if !strings.HasPrefix(line, "<details><summary") || !strings.Contains(line, c.folded) ||
			strings.Count(rest, "<tr>") != 1+len(c.table.Rows) {
			t.Errorf("want the line %q and below it all rows:\n%s", c.folded, page)
		}
	}
}

// No form of a table lets a text be markup, a formula or a cell of its own.
func TestTable(t *testing.T) {
	v := reproduction.Verdicts(sample())
	if s := v.HTML(); strings.Contains(s, "<b>") || !strings.Contains(s, "&lt;b&gt;") {
		t.Errorf("a text became markup: %s", s)
	}
	table := reproduction.Table{
		Columns: []string{"x|y", "n"}, Rows: [][]string{{"=1+1", "-0.5"}, {"a <b> [c]", "1\n2"}},
	}
	var b bytes.Buffer
	if err := table.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if want := "x|y,n\n'=1+1,-0.5\na <b> [c],\"1\n2\"\n"; b.String() != want {
		t.Errorf("CSV %q, want %q", b.String(), want)
	}
	want := "| x\\|y | n |\n|---|---|\n| =1+1 | -0.5 |\n| a &lt;b&gt; \\[c] | 1 2 |\n"
	if got := table.Markdown(); got != want {
		t.Errorf("Markdown %q, want %q", got, want)
	}
	long := strings.TrimSpace(strings.Repeat("word ", 20))
	text := reproduction.Table{
		Columns: []string{"claim", "stated", "found", "verdict"},
		Rows:    [][]string{{long, "0 ± 1e-06", long + " end", "agrees"}},
	}.Text()
	if n := strings.Count(text, "word"); n != 40 || !strings.Contains(text, "end") {
		t.Errorf("%d of 40 words are left:\n%s", n, text)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(line) - 1; n > 78 {
			t.Errorf("a line of %d characters: %q", n, line)
		}
	}
}

// Where columns have to be narrow, the one with most text is the widest: ten long claims beside one
// long reason take few lines.
func TestWidths(t *testing.T) {
	claim := strings.TrimSpace(strings.Repeat("claim ", 12)) // 71 characters
	table := reproduction.Table{Columns: []string{"figure", "claim", "found", "verdict", "why"}}
	for range 10 {
		table.Rows = append(table.Rows, []string{"s1-fig1", claim, "0.5 against 0.25", "agrees", ""})
	}
	table.Rows[4][4] = strings.TrimSpace(strings.Repeat("because ", 12))
	text := table.Text()
	// 78 characters less 7 and 7 of short columns, 12 each of found and why, and 8 between are 32
	// for claims, which have three lines in them; the reason has twelve.
	if n := strings.Count(text, "\n"); n > 1+9*3+12 {
		t.Errorf("%d lines, want 40 at most:\n%s", n, text)
	}
	if strings.Count(text, "claim") != 121 || strings.Count(text, "because") != 12 {
		t.Errorf("words are missing:\n%s", text)
	}
}

// A table of more columns than fit keeps all of its cells whole.
func TestManyColumns(t *testing.T) {
	table := reproduction.Table{Rows: [][]string{nil}}
	for i := range 30 {
		table.Columns = append(table.Columns, "n")
		table.Rows[0] = append(table.Rows[0], strconv.Itoa(1000+i))
	}
	if got := strings.Fields(table.Text()); len(got) != 60 || got[59] != "1029" {
		t.Errorf("cells %v", got)
	}
}
