// Command methodpage writes the measured part of docs/measured/methods.md, and its picture, from
// what headwater bench methods --json measured:
//
//	headwater bench methods --backend xla --cases 25 --faithful --ablations 32 \
//		--randomized --json -o report.json
//	go run ./internal/bench/methodpage -report report.json -machine "two cores of a 2.5 GHz Xeon"
//
// With -unguided it adds reports of models that were trained without guidance.
package main

import (
	"cmp"
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
	unguided := flag.String("unguided", "",
		"the `files` of models trained without guidance, joined by commas, seed by seed")
	machine := flag.String("machine", "", "the machine that it was measured on, for the page")
	dir := flag.String("dir", "docs/measured", "the `folder` of the page")
	flag.Parse()
	var others []string
	if *unguided != "" {
		others = strings.Split(*unguided, ",")
	}
	if err := write(*path, others, *machine, *dir); err != nil {
		fmt.Fprintf(os.Stderr, "methodpage: %v\n", err)
		os.Exit(1)
	}
}

// write reads the report and writes the picture and the measured part of the page.
func write(path string, unguided []string, machine, dir string) error {
	r, err := read(path)
	if err != nil {
		return err
	}
	if r.Cost == nil {
		return fmt.Errorf("%s has no cost; measure with --timed above 0", path)
	}
	var others []*report
	for _, p := range unguided {
		o, err := read(p)
		if err != nil {
			return err
		}
		others = append(others, o)
	}
	page := filepath.Join(dir, "methods.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text, err = between(text, r.page(machine, others))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	if err := r.draw(filepath.Join(dir, "methods.svg")); err != nil {
		return err
	}
	return os.WriteFile(page, text, 0o644)
}

// The lines around the measured part of docs/measured/methods.md.
const (
	begin = "<!-- measured: written by methodpage -->\n"
	end   = "<!-- end of measured -->\n"
)

// between replaces what stands between these lines.
func between(text []byte, content string) ([]byte, error) {
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return nil, fmt.Errorf("want the lines %q and %q", begin, end)
	}
	return []byte(before + begin + content + end + after), nil
}

// all is the last group, over all cases.
func (r *report) all() string { return r.Groups[len(r.Groups)-1] }

// page is the measured part of docs/measured/methods.md.
func (r *report) page(machine string, unguided []*report) string {
	var b strings.Builder
	n := (r.Cases + r.Unproven) / max(1, len(r.Groups)-1)
	fmt.Fprintf(&b, intro, r.Cases, n, r.Chosen, r.Cases)
	b.WriteString(limits)
	fmt.Fprintf(&b, "\nMeasured with `%s` on %s.\n", r.command(n), machine)
	b.WriteString("\n### What follows\n\n" + r.conclusions() + "\n" + cautions)
	b.WriteString(r.proof())
	b.WriteString(ranking)
	b.WriteString(r.table("average precision", true))
	b.WriteString(r.layers())
	b.WriteString(r.unguided(unguided))
	b.WriteString(shares)
	b.WriteString(r.table("share on evidence", false))
	if _, ok := r.At(r.all(), r.Methods[0], "AOPC"); ok {
		b.WriteString(losses)
		b.WriteString(r.faithfulness())
		if s, ok := r.At(r.all(), evaluate.LatestLine, "AOPC"); ok {
			top, _ := r.At(r.all(), r.Ranked("AOPC")[0], "AOPC")
			fmt.Fprintf(&b, removal, top.Mean, s.Mean)
		}
	}
	if r.has(additive[0]) {
		b.WriteString(ablations)
		b.WriteString(r.overall(additive))
	}
	if r.Randomized != nil {
		b.WriteString(shuffled)
		b.WriteString(r.randomized())
	}
	b.WriteString("\n### Do methods agree?\n\n" +
		"Mean rank correlation between the sizes of the scores of two methods, over all cases.\n\n")
	b.WriteString(r.agreement())
	return b.String()
}

// intro begins the page.
const intro = `## Which method to believe

Every method of ` + "`headwater methods`" + ` is scored on %d held-out sentences of the embedded model's
grammar, out of %d of each kind. The grammar says which words decide an answer: the subject of a
verb, across nouns of the other number; the person that a pronoun stands for; the fact that a
question asks for, with the words that link the two; the word at the same place of a list. Scorers
explain the answer against its foil. The model itself would have chosen exactly this word in %d of
the %d sentences; in agreement, any verb of the right number is right.

`

// limits says what the tables do not show.
const limits = `The tables do not show that the model reads the evidence where it stands. Attention may carry a
word's content to another position in a lower layer and read it from there in a higher layer, so a
method that names the carrier is not wrong about the model. One head of this model (layer 3, head 6)
was shown the evidence while training began, so the attention of layer 3 is no natural find. And
this is one small model. For models whose circuits are set by hand, where the right answer is exact,
see ` + "`headwater bench methods --planted`" + `.

The tables do show whether a method points at the words that decide the answer. That these words
decide is proven for each sentence, by changing its words.
`

// cautions says what the tables might be taken for and do not show.
const cautions = `What does not follow:

- That attention of the right layer is enough in other models. Here one head of that layer was
  taught to look at the evidence, and the layer was found with sentences whose evidence is known.
  Without such sentences nobody knows which layer to read; the last one is a bad guess.
- That scorers beat methods that read attention, or the reverse. It depends on the layer.
- That a method is wrong about how positions mix. Rollout and flow say where information could have
  come from, and most of it could have come from the first words.
- How methods do where evidence is redundant. A sentence counts only if each piece of its evidence
  is needed, one at a time. Occlusion looks for exactly that, so the choice favours occlusion.
`

// ranking introduces the table of average precision.
const ranking = `
### Where the evidence stands in the ranking

![Average precision of the evidence by method, for each kind and over all, with the lines of chance, random scores and position](methods.svg)

Average precision is a mean over the pieces of evidence: the share of evidence among the words
ranked down to that piece. Brackets hold 95 % confidence. Signed scores count by their size. Control
tokens, and words of form that decide, are not ranked. A method of one layer is scored in the layer
that did best on other sentences. *Lines* in italics know nothing of the text: *chance* is the mean
over all orders, *earliest first* and *latest first* rank by position. ` + "`ms`" + ` is the time to explain
one token after its prompt, and ` + "`×`" + ` is that time divided by the time to generate the token.

`

// losses introduces the measures of what the answer loses.
const losses = `
### What the answer loses

How far the answer's probability falls when words are removed in the method's order. AOPC is the
mean over how many are removed (high is good); comprehensiveness is the fall when the first 1 to
50 % are removed (high is good); sufficiency is the fall when only these are left (low is good).
Control tokens stay.

`

// additive are the measures of ablations.
var additive = []string{"linear datamodeling score", "drop of the top 3"}

// ablations introduces the measures of ablations.
const ablations = `
### Do the scores add up?

Each word is removed with probability ½, 32 times. The *linear datamodeling score* is the rank
correlation between the sum of the scores of the words that are left and the log-odds of the answer;
the *drop of the top 3* is what the answer's log-probability loses without the three highest scores,
in nats. High is good for both (Cohen-Wang et al. 2024). Unlike the rankings above, both take the
scores with their signs.

`

// shuffled introduces the comparison with shuffled weights.
const shuffled = `
### Does it notice that the weights are random?

Rank correlation between a method's scores and its scores for the same model after the entries of
every matrix were shuffled. Near 0 is good: a method that stays the same shows the text or the
positions, not the model. Methods of one layer are compared in the layer that is scored.

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
			fmt.Fprintf(&b, "- A ranking that knows nothing of the text reaches %s at best, "+
				"by %s.\n", cell(s), r.method(name))
			break
		}
	}
	point := func(text string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(&b, "- %s: %s.\n", text, strings.Join(names, ", "))
		}
	}
	point("Better than every such ranking, sentence by sentence with 95 % confidence, "+
		"and by how much", above)
	point("Not separable from at least one of them", near)
	point("Worse than at least one of them", below)
	for _, g := range r.Groups {
		for _, name := range []string{evaluate.EarliestLine, evaluate.LatestLine} {
			if s, ok := r.At(g, name, measure); ok && g != r.all() && s.Mean > .9 {
				fmt.Fprintf(&b, "- In %s, %s reaches %.2f: position is enough there, "+
					"so that kind tells little about methods.\n", g, r.method(name), s.Mean)
			}
		}
	}
	if len(r.Layers) > 0 && len(r.Layers[0].Layers) > 1 {
		var both []string
		for _, l := range r.Layers {
			row := l.Table[len(l.Table)-1]
			if k := slices.Index(l.Layers, l.Picked[len(l.Picked)-1]); k >= 0 {
				scored, last := row[k].Mean, row[len(row)-1].Mean
				name := r.method(l.Method)
				both = append(both, fmt.Sprintf("%s %.2f and %.2f", name, scored, last))
			}
		}
		point("Methods of one layer need the right layer; "+
			"they reach, in the scored layer and in the last one", both)
	}
	return b.String()
}

// lead returns how far a method is above the lines, with an interval: the lowest of those above
// each.
func (r *report) lead(method string) (mean, low, high float64) {
	i := slices.Index(r.Methods, method)
	mean, low, high = math.Inf(1), math.Inf(1), math.Inf(1)
	for _, lead := range r.Leads {
		s := lead.Methods[i]
		mean, low, high = min(mean, s.Mean), min(low, s.Low), min(high, s.High)
	}
	return mean, low, high
}

// shares introduces the table of what part of the scores is on the evidence.
const shares = `
### Share of the scores on the evidence

The share of a row's sum over the ranked words that is on the evidence. Ranks do not show it.

`

// removal compares the best method with removing the last words.
const removal = `
The best AOPC here is %.2f. *Latest first*, which only removes the last words, reaches %.2f. The
nearer the two are, the less this measure separates a method that finds the evidence from one
that breaks the sentence.
`

// proofs introduces the table of what changing words did.
const proofs = `
### Is the evidence evidence?

Each word of each sentence is replaced by another of its kind, and the model is asked again. A piece
of evidence *decides* if the model then prefers the answer that has become right, or, where no
answer is right, if it loses at least half of its preference for the answer over the foil. The loss
stands beside it as a share (mean, lowest and highest; above 1 the other answer is preferred), and
for evidence in logits too. A sentence is scored if all of its evidence decides and no other word
does; %d of %d are not scored. Words of form, such as a question mark, say what kind of answer is
wanted, and there is no other word of their kind. Each is replaced by several others, and if it
decides with all of them, it is not ranked.

| | scored | evidence that decides | lost | logits | other words that decide | lost | words of form that decide |
|---|---|---|---|---|---|---|---|
`

// proof returns the section on what changing words did.
func (r *report) proof() string {
	if len(r.Proofs) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, proofs, r.Unproven, r.Cases+r.Unproven)
	for _, p := range r.Proofs {
		fmt.Fprintf(&b, "| %s | %d of %d | %s | %s | %s | %s | %s | %s |\n",
			p.Group, p.Proven, p.Cases, deciding(p.Evidence), lost(p.Evidence),
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

// layerByLayer introduces the table of methods of one layer.
const layerByLayer = `
#### Layer by layer

Average precision over all cases, for methods of one layer. **Bold** is the layer that is scored
above: the best one on %d other sentences of all kinds. The best layer in this table itself is known
only in hindsight and is no score of a method.

| method |`

// layers returns the section of methods of one layer.
func (r *report) layers() string {
	if len(r.Layers) == 0 || len(r.Layers[0].Layers) < 2 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, layerByLayer, r.Selection)
	for _, l := range r.Layers[0].Layers {
		fmt.Fprintf(&b, " layer %d |", l)
	}
	columns := 2 + len(r.Layers[0].Layers)
	b.WriteString(" best in hindsight |\n" + strings.Repeat("|---", columns) + "|\n")
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
func (r *report) command(n int) string {
	ablated := ""
	if r.has(additive[0]) {
		ablated = " --ablations 32"
	}
	return fmt.Sprintf("headwater bench methods --backend %s --cases %d --faithful%s "+
		"--randomized --json -o report.json", cmp.Or(r.Model.Backend, "xla"), n, ablated)
}

// has reports whether the report has a measure.
func (r *report) has(measure string) bool {
	return slices.ContainsFunc(r.Measures,
		func(m evaluate.Measure) bool { return m.Name == measure })
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
	return r.overall([]string{"AOPC", "comprehensiveness", "sufficiency"})
}

// overall returns a table of measures over all cases, ordered by the first of them.
func (r *report) overall(measures []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| method | %s |\n|---%s|\n", strings.Join(measures, " | "),
		strings.Repeat("|---", len(measures)))
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
