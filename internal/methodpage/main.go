// Command methodpage writes docs/methods.md, its picture and the table in the README from what
// headwater bench methods --json measured:
//
//	headwater bench methods --backend xla --cases 25 --faithful --randomized --json -o report.json
//	go run ./internal/methodpage -report report.json -machine "two cores of a 2.5 GHz Xeon" -dir docs -readme README.md
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
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
	readme := flag.String("readme", "README.md", "the `file` whose table is written; empty for none")
	flag.Parse()
	if err := write(*path, *machine, *dir, *readme); err != nil {
		fmt.Fprintf(os.Stderr, "methodpage: %v\n", err)
		os.Exit(1)
	}
}

// write reads the report and writes page, picture and table.
func write(path, machine, dir, readme string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(r.Groups) == 0 || r.Cost == nil || r.Leads == nil {
		return fmt.Errorf("%s has no groups, evidence or cost; measure cases with evidence and --timed above 0", path)
	}
	if err := r.draw(filepath.Join(dir, "methods.svg")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "methods.md"), []byte(r.page(machine)), 0o644); err != nil || readme == "" {
		return err
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	text, err = between(text, r.summary(machine))
	if err != nil {
		return fmt.Errorf("%s: %w", readme, err)
	}
	return os.WriteFile(readme, text, 0o644)
}

// The lines around what is written in the README.
const (
	begin = "<!-- methods: written by internal/methodpage -->\n"
	end   = "<!-- end of methods -->\n"
)

// between puts content in the place of what stands between the lines.
func between(text []byte, content string) ([]byte, error) {
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return nil, fmt.Errorf("want the lines %q and %q", begin, end)
	}
	return []byte(before + begin + content + end + after), nil
}

// summary is what the README has: a table without intervals of kinds, and what follows.
func (r *report) summary(machine string) string {
	const measure = "average precision"
	var b strings.Builder
	fmt.Fprintf(&b, "| average precision of the evidence | %s, 95 %% confidence | cost |\n|---%s|---|\n", strings.Join(r.Groups, " | "),
		strings.Repeat("|---", len(r.Groups)))
	for _, name := range r.Ranked(measure) {
		fmt.Fprintf(&b, "| %s |", r.method(name))
		for _, g := range r.Groups {
			s, _ := r.At(g, name, measure)
			text := fmt.Sprintf("%.2f", s.Mean)
			if g == r.all() {
				text = cell(s)
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		if c, ok := r.Cost[name]; ok {
			fmt.Fprintf(&b, " %.1f× |\n", c.Multiple)
		} else {
			b.WriteString(" – |\n")
		}
	}
	n := (r.Cases + r.Unproven) / max(1, len(r.Groups)-1)
	fmt.Fprintf(&b, "\n%d sentences whose evidence is proven, of %d of each kind; lines in italics know nothing of the text; the cost is that of a token with its\n"+
		"prompt, as a multiple of generating it (`%s`, %s).\n\n", r.Cases, n, command(n), machine)
	b.WriteString(r.conclusions())
	return b.String()
}

// all is the last group, over all cases.
func (r *report) all() string { return r.Groups[len(r.Groups)-1] }

// page is the text of docs/methods.md.
func (r *report) page(machine string) string {
	var b strings.Builder
	n := (r.Cases + r.Unproven) / max(1, len(r.Groups)-1)
	fmt.Fprintf(&b, "# Which method to believe\n\n"+
		"Every method of `headwater methods`, scored on %d held-out sentences of the embedded model's grammar, of %d of each kind. The grammar says\n"+
		"which words decide an answer: the subject of a verb across nouns of the other number, the person that a pronoun stands for, the fact that a\n"+
		"question asks for with the words that link the two, the word at the same place of a list. Scorers explain the answer against its foil.\n"+
		"The model would have said just this word in %d of the %d; in agreement any verb of the number is right.\n\n", r.Cases, n, r.Chosen, r.Cases)
	b.WriteString(limits)
	fmt.Fprintf(&b, "\nMeasured with `%s` on %s.\n", command(n), machine)
	b.WriteString("\n## What follows\n\n" + r.conclusions() + "\nWhat does not follow:\n\n" + cautions)
	b.WriteString(r.proof())
	b.WriteString("\n## Where the evidence stands in the ranking\n\n![Average precision of the evidence by method, for each kind and over all, with the lines of chance, random scores and position](methods.svg)\n\n" +
		"Average precision: the mean over the evidence of how many of the words down to it in the ranking are evidence. 95 % confidence in brackets. Signed\n" +
		"scores count by their size. Control tokens, and words of form that decide, are not ranked. A method of one layer is scored in the layer\n" +
		"that did best on other sentences. *Lines* in italics know nothing of the text: *chance* is the mean over all orders, *earliest first* and\n" +
		"*latest first* rank by position. `ms` is the time to explain one token behind its prompt, `×` as a multiple of generating it.\n\n")
	b.WriteString(r.table("average precision", true))
	b.WriteString(r.layers())
	b.WriteString("\n## Share of the scores on the evidence\n\nWhat part of a row's sum over the ranked words lies on the evidence, which ranks do not see.\n\n")
	b.WriteString(r.table("share on evidence", false))
	if _, ok := r.At(r.all(), r.Methods[0], "AOPC"); ok {
		b.WriteString("\n## What the answer loses\n\nThe fall of the answer's probability when words are taken away in the method's order, averaged over how many (AOPC, high is good); " +
			"when the first 1 to\n50 % are (comprehensiveness, high is good); when only these are left (sufficiency, low is good). Control tokens stay.\n\n")
		b.WriteString(r.faithfulness())
		if s, ok := r.At(r.all(), evaluate.LatestLine, "AOPC"); ok {
			top, _ := r.At(r.all(), r.Ranked("AOPC")[0], "AOPC")
			fmt.Fprintf(&b, "\nThe best here has an AOPC of %.2f and *latest first*, which only takes the last words away, %.2f: as far as they are near\n"+
				"each other, this measure does not tell a method that finds the evidence from one that breaks the sentence.\n", top.Mean, s.Mean)
		}
	}
	if r.Randomized != nil {
		b.WriteString("\n## Does it notice that the weights are random?\n\nRank correlation of a method's scores with those for the same model after the entries of every matrix were shuffled. " +
			"Near 0 is good: a method that\nstays the same shows the text or the positions, not the model. Methods of one layer are compared in the layer that is scored.\n\n")
		b.WriteString(r.randomized())
	}
	b.WriteString("\n## Do methods agree?\n\nMean rank correlation of the sizes of their scores of words over all cases.\n\n")
	b.WriteString(r.agreement())
	return b.String()
}

// limits says what the tables do not show.
const limits = `What this shows: whether a method points at the words that decide the answer, which is proven for each sentence by changing its words. What it
does not: that the model reads them there. Attention may carry a word's content to another position in a lower layer and read it from
that position above, so a method that names the carrier is not wrong about the model. One head of this model (layer 3, head 6) was shown where
evidence stands while training began: the attention of layer 3 is no natural find. It is one small model: for
models whose circuits are set by hand, where the right answer is exact, see ` + "`headwater bench methods --planted`" + `.
`

// cautions says what the tables might be taken for and do not show.
const cautions = `- That attention of the right layer suffices in other models. Here one head of that layer was taught to look at the evidence, and the layer was
  found on sentences whose evidence is known. Without such sentences nobody knows which layer to read; the last one is a bad guess.
- That scorers beat methods that read attention, or the reverse: how the two compare depends on the layer.
- That a method is wrong about how positions mix. Rollout and flow say where information could have come from, and most could have come from
  the first words.
- How methods do where evidence is redundant. A sentence counts only if each piece of its evidence is needed, one at a time; that is what
  occlusion looks for, too, and it favours occlusion.
`

// conclusions says what the numbers bear out, from the numbers.
func (r *report) conclusions() string {
	const measure = "average precision"
	var above, near, below []string
	for _, name := range r.Ranked(measure) {
		if slices.Contains(evaluate.Lines(), name) {
			continue
		}
		switch mean, low, high := r.lead(name); {
		case low > 0:
			above = append(above, fmt.Sprintf("%s %+.2f", r.method(name), mean))
		case high < 0:
			below = append(below, r.method(name))
		default:
			near = append(near, r.method(name))
		}
	}
	var b strings.Builder
	for _, name := range r.Ranked(measure) {
		if s, _ := r.At(r.all(), name, measure); slices.Contains(evaluate.Lines(), name) {
			fmt.Fprintf(&b, "- The best that a ranking without any knowledge of the text reaches is %s, by %s.\n",
				cell(s), r.method(name))
			break
		}
	}
	point := func(text string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(&b, "- %s: %s.\n", text, strings.Join(names, ", "))
		}
	}
	point("Better than each of these rankings, sentence by sentence with 95 % confidence, and by how much", above)
	point("Not told apart from one of them", near)
	point("Worse than one of them", below)
	for _, g := range r.Groups {
		for _, name := range []string{evaluate.EarliestLine, evaluate.LatestLine} {
			if s, ok := r.At(g, name, measure); ok && g != r.all() && s.Mean > .9 {
				fmt.Fprintf(&b, "- In %s, %s reaches %.2f: position suffices there, and that kind tells little"+
					" about methods.\n", g, r.method(name), s.Mean)
			}
		}
	}
	if len(r.Layers) > 0 && len(r.Layers[0].Layers) > 1 {
		var both []string
		for _, l := range r.Layers {
			row := l.Table[len(l.Table)-1]
			if k := slices.Index(l.Layers, l.Picked[len(l.Picked)-1]); k >= 0 {
				both = append(both, fmt.Sprintf("%s %.2f and %.2f", r.method(l.Method), row[k].Mean, row[len(row)-1].Mean))
			}
		}
		point("Methods of one layer need the right one; in the layer that is scored and in the last they have", both)
	}
	return b.String()
}

// lead returns how far a method is above the lines, with an interval: the lowest of those above each.
func (r *report) lead(method string) (mean, low, high float64) {
	i := slices.Index(r.Methods, method)
	mean, low, high = math.Inf(1), math.Inf(1), math.Inf(1)
	for _, lead := range r.Leads {
		s := lead.Methods[i]
		mean, low, high = min(mean, s.Mean), min(low, s.Low), min(high, s.High)
	}
	return mean, low, high
}

// proof returns the section of what changing words did.
func (r *report) proof() string {
	if len(r.Proofs) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Is the evidence evidence?\n\n"+
		"Each word of each sentence is replaced by another of its kind, and the model is asked again. A piece of evidence *decides* if the answer that is\n"+
		"right then is preferred, or, where none is right, if at least half of the preference for the answer over its foil is lost; what is lost stands\n"+
		"beside it as a share (mean, lowest and highest; above 1 the other answer is preferred) and for evidence in logits. A sentence is scored if all of\n"+
		"its evidence decides and no other word does. %d of %d are not. Words of form, such as a question mark, say what kind of answer is wanted and\n"+
		"have no word of their kind: each is replaced by several others, and where it decides with all of them, it is not ranked.\n\n", r.Unproven, r.Cases+r.Unproven)
	b.WriteString("| | scored | evidence that decides | lost | logits | other words that decide | lost | words of form that decide |\n|---|---|---|---|---|---|---|---|\n")
	for _, p := range r.Proofs {
		fmt.Fprintf(&b, "| %s | %d of %d | %s | %s | %s | %s | %s | %s |\n", p.Group, p.Proven, p.Cases, deciding(p.Evidence), lost(p.Evidence),
			logits(p.Evidence), deciding(p.Others), lost(p.Others), deciding(p.Forms))
	}
	return b.String()
}

// deciding, lost and logits are cells of the table of changes.
func deciding(m evaluate.Moves) string { return fmt.Sprintf("%d of %d", m.Deciding, m.Words) }

func lost(m evaluate.Moves) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", m.Loss.Mean, m.Least, m.Most)
}

func logits(m evaluate.Moves) string { return fmt.Sprintf("%.1f", m.Logits.Mean) }

// layers returns the section of methods of one layer.
func (r *report) layers() string {
	if len(r.Layers) == 0 || len(r.Layers[0].Layers) < 2 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### Layer by layer\n\nAverage precision over all cases of methods of one layer. **Bold** is the layer that is scored above: the best on %d other\n"+
		"sentences of all kinds. The best layer of this table itself is known in hindsight only and no score of a method.\n\n| method |", r.Selection)
	for _, l := range r.Layers[0].Layers {
		fmt.Fprintf(&b, " layer %d |", l)
	}
	b.WriteString(" best in hindsight |\n|---" + strings.Repeat("|---", len(r.Layers[0].Layers)+1) + "|\n")
	for _, l := range r.Layers {
		last := len(l.Table) - 1
		fmt.Fprintf(&b, "| `%s` |", l.Method)
		for k, s := range l.Table[last] {
			text := cell(s)
			if l.Layers[k] == l.Picked[last] {
				text = "**" + text + "**"
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		fmt.Fprintf(&b, " layer %d |\n", l.Best[last])
	}
	return b.String()
}

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
		fmt.Fprintf(&b, "| %s |", r.method(name))
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

// method writes a method's name, with the layer that is scored if it has one; lines are set apart.
func (r *report) method(name string) string {
	if slices.Contains(evaluate.Lines(), name) {
		return "*" + name + "*"
	}
	if layer, ok := r.PickedLayer(name); ok {
		return fmt.Sprintf("`%s` (layer %d)", name, layer)
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
		fmt.Fprintf(&b, "| %s |", r.method(name))
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
		fmt.Fprintf(&b, "| %s | %s |\n", r.method(name), cell(r.Randomized[name]))
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
