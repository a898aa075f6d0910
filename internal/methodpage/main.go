// Command methodpage writes docs/methods.md and its picture from what headwater bench methods --json measured:
//
//	headwater bench methods --cases 100 --faithful --randomized --json -o report.json
//	go run ./internal/methodpage -report report.json -machine "2 cores of a 2.5 GHz Xeon" -dir docs
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// report is what the command writes.
type report struct {
	Model trace.Info `json:"model"`
	evaluate.Report
	Randomized map[string]evaluate.Summary `json:"randomized"`
	Cost       map[string]struct {
		Milliseconds float64 `json:"ms"`
		Multiple     float64 `json:"multiple"`
	} `json:"cost"`
}

func main() {
	path := flag.String("report", "", "the `file` that headwater bench methods --json wrote")
	machine := flag.String("machine", "", "what it was measured on, for the page")
	dir := flag.String("dir", "docs", "the `folder` of the page")
	flag.Parse()
	if err := write(*path, *machine, *dir); err != nil {
		fmt.Fprintf(os.Stderr, "methodpage: %v\n", err)
		os.Exit(1)
	}
}

// write reads the report and writes page and picture.
func write(path, machine, dir string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(r.Groups) == 0 || r.Cost == nil {
		return fmt.Errorf("%s has no groups or no cost; measure with --timed above 0", path)
	}
	if err := r.draw(filepath.Join(dir, "methods.svg")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "methods.md"), []byte(r.page(machine)), 0o644)
}

// all is the last group, over all cases.
func (r *report) all() string { return r.Groups[len(r.Groups)-1] }

// page is the text of docs/methods.md.
func (r *report) page(machine string) string {
	var b strings.Builder
	n := r.Cases / max(1, len(r.Groups)-1)
	fmt.Fprintf(&b, "# Which method to believe\n\n"+
		"Every method of `headwater methods`, scored on %d held-out sentences of the embedded model's grammar, %d of each kind. The grammar says which\n"+
		"words decide an answer: the subject of a verb across nouns of the other number, the person that a pronoun stands for, the fact that a question\n"+
		"asks for and the word that finds it, the place in a list that is repeated. Scorers explain the answer against its foil. The model would have said just this word in\n"+
		"%d of the %d; in agreement any verb of the number is right.\n\n", r.Cases, n, r.Chosen, r.Cases)
	b.WriteString(limits)
	fmt.Fprintf(&b, "\nMeasured with `%s` on %s.\n", command(n), machine)
	b.WriteString("\n## Where the evidence stands in the ranking\n\n![Average precision of the evidence by method, for each kind and over all, with chance and random lines](methods.svg)\n\n" +
		"Average precision: the mean over the evidence of how many of the tokens down to it in the ranking are evidence. 95 % confidence in brackets. Signed\n" +
		"scores count by their size. `ms` is the time to explain one token behind its prompt, `×` as a multiple of generating it.\n\n")
	b.WriteString(r.table("average precision", true))
	b.WriteString("\n## Share of the scores on the evidence\n\nWhat part of a row's sum lies on the evidence, which ranks do not see.\n\n")
	b.WriteString(r.table("share on evidence", false))
	if _, ok := r.At(r.all(), r.Methods[0], "AOPC"); ok {
		b.WriteString("\n## What the answer loses\n\nThe fall of the answer's probability when tokens are taken away in the method's order, averaged over how many (AOPC, high is good); " +
			"when the first 1 to\n50 % are (comprehensiveness, high is good); when only these are left (sufficiency, low is good).\n\n")
		b.WriteString(r.faithfulness())
	}
	if r.Randomized != nil {
		b.WriteString("\n## Does it notice that the weights are random?\n\nRank correlation of a method's scores with those for the same model after the entries of every matrix were shuffled. " +
			"Near 0 is good: a method that\nstays the same shows the text or the positions, not the model.\n\n")
		b.WriteString(r.randomized())
	}
	b.WriteString("\n## Do methods agree?\n\nMean rank correlation of the sizes of their scores over all cases.\n\n")
	b.WriteString(r.agreement())
	return b.String()
}

// limits says what the tables do not show.
const limits = `What this shows: whether a method points at the words that must decide the answer, since without them nobody could give it. What it does
not: that the model reads them there. Attention may carry a word's content to another position in a lower layer and read it from
that position above, so a method that names the carrier is not wrong about the model; rows of one layer suffer most from this. One head of this
model (layer 3, head 6) was shown where evidence stands while training began, which favours methods that read attention. It is one small model:
for models whose circuits are set by hand, where the right answer is exact, see ` + "`headwater bench methods --planted`" + `.
`

// command is what was run.
func command(n int) string {
	return fmt.Sprintf("headwater bench methods --backend xla --cases %d --faithful --randomized --json -o report.json", n)
}

// table returns a measure by method and group.
func (r *report) table(measure string, cost bool) string {
	var b strings.Builder
	b.WriteString("| method |")
	for _, g := range r.Groups {
		fmt.Fprintf(&b, " %s |", g)
	}
	columns := len(r.Groups) + 1
	if cost {
		b.WriteString(" ms | × |")
		columns += 2
	}
	b.WriteString("\n" + strings.Repeat("|---", columns) + "|\n")
	for _, name := range r.Ranked(measure) {
		fmt.Fprintf(&b, "| %s |", method(name))
		for _, g := range r.Groups {
			s, _ := r.At(g, name, measure)
			fmt.Fprintf(&b, " %s |", cell(s))
		}
		if c, ok := r.Cost[name]; ok && cost {
			fmt.Fprintf(&b, " %.1f | %.1f |", c.Milliseconds, c.Multiple)
		} else if cost {
			b.WriteString(" – | – |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// method writes a method's name; lines that are none are set apart.
func method(name string) string {
	if name == evaluate.ChanceLine {
		return "*chance*"
	}
	return "`" + name + "`"
}

// cell writes a summary.
func cell(s evaluate.Summary) string {
	if s.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", s.Mean, s.Low, s.High)
}

// faithfulness returns the table of what is lost.
func (r *report) faithfulness() string {
	var b strings.Builder
	measures := []string{"AOPC", "comprehensiveness", "sufficiency"}
	fmt.Fprintf(&b, "| method | %s |\n|---|---|---|---|\n", strings.Join(measures, " | "))
	for _, name := range r.Ranked(measures[0]) {
		fmt.Fprintf(&b, "| %s |", method(name))
		for _, m := range measures {
			s, _ := r.At(r.all(), name, m)
			fmt.Fprintf(&b, " %s |", cell(s))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// randomized returns the table of correlations with shuffled weights.
func (r *report) randomized() string {
	var b strings.Builder
	b.WriteString("| method | correlation |\n|---|---|\n")
	names := slices.Clone(r.Methods)
	names = slices.DeleteFunc(names, func(n string) bool { _, ok := r.Randomized[n]; return !ok })
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(r.Randomized[a].Mean, r.Randomized[b].Mean)
	})
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | %s |\n", method(name), cell(r.Randomized[name]))
	}
	return b.String()
}

// agreement returns the table of correlations between methods.
func (r *report) agreement() string {
	var b strings.Builder
	b.WriteString("| |")
	for i := range r.Agreement.Methods {
		fmt.Fprintf(&b, " %d |", i+1)
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(r.Agreement.Methods)) + "|\n")
	for i, name := range r.Agreement.Methods {
		fmt.Fprintf(&b, "| %d `%s` |", i+1, name)
		for j := range r.Agreement.Methods {
			s := r.Agreement.Spearman[i][j]
			switch {
			case i == j:
				b.WriteString(" |")
			case s.N == 0:
				b.WriteString(" – |")
			default:
				fmt.Fprintf(&b, " %.2f |", s.Mean)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
