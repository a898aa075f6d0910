package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/tasks"
	"github.com/headwater-ml/headwater/models"
)

// The defaults of tasks: how many candidates of a kind are made, how many of them are scored, and
// how many are timed.
const (
	taskCandidates = 500
	taskLimit      = 30
	taskTimed      = 2
	taskTokens     = 8 // generated for each that is timed
)

// taskFlags adds the flags of tasks.
func taskFlags(cmd *cobra.Command, f *benchFlags) {
	cmd.Flags().Func("kinds", "take these `kinds` of task, joined by commas: "+
		strings.Join(tasks.Kinds(), ", ")+" (default all)", func(s string) error {
		f.kinds = nil
		for name := range strings.SplitSeq(s, ",") {
			name = strings.TrimSpace(name)
			if _, err := tasks.Cases(name, tasks.Options{N: 1}); err != nil {
				return err
			}
			f.kinds = append(f.kinds, name)
		}
		return nil
	})
	cmd.Flags().Func("split", "take the words and sentences of this `half`, held-out or dev "+
		"(default held-out)", func(s string) (err error) {
		f.split, err = tasks.ParseSplit(s)
		return err
	})
	cli.WholeFlag(cmd.Flags(), &f.opts.Limit, "limit", 1, maxBenchCases,
		"score `N` cases of each kind at most, the first ones that are proven",
		fmt.Sprintf("no limit, for tasks %d", taskLimit))
}

// tasked reports whether the cases are tasks: the model has no grammar and no circuit, and no file
// gives others.
func (f *benchFlags) tasked() bool {
	_, translates := f.translator()
	return f.input == "" && !f.planted && !f.grammar && !f.circuit() && !translates &&
		f.Model != "" && f.Model != models.Default
}

// timedTokens returns how many tokens are explained after each prompt that is timed. After tasks
// there are several, because a real model is used to generate texts.
func (f *benchFlags) timedTokens() int {
	if f.tasked() {
		return taskTokens
	}
	return 1
}

// setTaskDefaults fills in the defaults of tasks for flags that were not given.
func (f *benchFlags) setTaskDefaults(changed func(flag string) bool) {
	if !f.tasked() {
		return
	}
	if !changed("cases") {
		f.cases = taskCandidates
	}
	if !changed("limit") {
		f.opts.Limit = taskLimit
	}
	if !changed("timed") {
		f.timed = taskTimed
	}
	if len(f.kinds) == 0 {
		f.kinds = tasks.Kinds()
	}
	if len(f.opts.Explain.Methods) == 0 {
		f.opts.Explain.Methods = attribution.DefaultMethods(trace.Info{Head: trace.NextToken})
	}
	f.split, _ = tasks.ParseSplit(string(f.split)) // the flag has checked it
}

// taskCases returns the candidates of every kind, with their changes.
func (f *benchFlags) taskCases(m trace.Model) ([]evaluate.Case, error) {
	if head := m.Info().Head; head != trace.NextToken || m.Info().Bidirectional {
		return nil, fmt.Errorf("the tasks ask for the next token, and %s does not predict it: "+
			"give cases of your own by --input", m.Info().Name)
	}
	var all []evaluate.Case
	for _, kind := range f.kinds {
		// Some answers are not one token of this model, so more are made than are taken.
		cases, err := tasks.Cases(kind, tasks.Options{
			Split: f.split, Seed: f.seed, N: min(2*f.cases+20, tasks.MaxCases),
		})
		if err != nil {
			return nil, err
		}
		taken := 0
		for _, c := range cases {
			if taken < f.cases && oneAnswer(m, c) {
				all, taken = append(all, c), taken+1
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no answer of the tasks is one token of %s: give cases of your "+
			"own by --input", m.Info().Name)
	}
	return all, nil
}

// oneAnswer reports whether the model has a token for an answer and a foil, and the counterfactual
// has as many tokens as the prompt.
func oneAnswer(m trace.Model, c evaluate.Case) bool {
	some := func(texts []string, one string) bool {
		if len(texts) == 0 {
			texts = []string{one}
		}
		return slices.ContainsFunc(texts, func(text string) bool { return oneToken(m, text) })
	}
	if !some(c.Answers, c.Continuation) || !some(c.Foils, c.Contrast) {
		return false
	}
	a, err := m.Encode(c.Prompt, trace.SpecialsAuto)
	if err != nil {
		return false
	}
	b, err := m.Encode(c.Counterfactual, trace.SpecialsAuto)
	return err == nil && len(a) == len(b)
}

// taskChoice is the choice of tasks of a report.
type taskChoice struct {
	Kinds []string    `json:"kinds"`
	Split tasks.Split `json:"split"`
	Seed  uint64      `json:"seed"`
}

// taskChoice returns the choice of tasks; nil if the cases are others.
func (f *benchFlags) taskChoice() *taskChoice {
	if !f.tasked() {
		return nil
	}
	return &taskChoice{f.kinds, f.split, f.seed}
}

// taskRow is a row of a table of tasks.
type taskRow struct {
	name, method string
	cells        []evaluate.Summary // by group
}

// writeTaskTable writes one measure by kind, with half the width of the confidence interval, and
// what a method costs. In average precision, methods of one layer also have their best layer, which
// is known only in hindsight.
func (r benchReport) writeTaskTable(w io.Writer, m evaluate.Measure) error {
	fmt.Fprintf(w, "\n%s (%s; mean ± half of the 95 %% interval)\n\n", m.Name, m.Better())
	rows, hindsight := r.taskRows(m)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "method\t%s", strings.Join(r.Groups, "\t"))
	if r.Cost != nil {
		fmt.Fprint(t, "\tcost")
	}
	fmt.Fprint(t, "\nn")
	for g := range r.Groups {
		fmt.Fprintf(t, "\t%d", rows[0].cells[g].N+rows[0].cells[g].Skipped)
	}
	if r.Cost != nil {
		fmt.Fprint(t, "\tof plain")
	}
	fmt.Fprintln(t)
	for _, row := range rows {
		fmt.Fprint(t, row.name)
		for _, s := range row.cells {
			fmt.Fprintf(t, "\t%s", narrowCell(s))
		}
		if c, ok := r.Cost[row.method]; ok {
			fmt.Fprintf(t, "\t%.1f×", c.Multiple)
		} else if r.Cost != nil {
			fmt.Fprint(t, "\t–")
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if hindsight {
		fmt.Fprintln(w, "\nA layer in hindsight is the one that did best on these very cases, "+
			"so it is not a score of the method.")
	}
	return nil
}

// taskRows returns the rows of a table of one measure, the best first, and whether one is of a
// layer that is known only in hindsight.
func (r benchReport) taskRows(m evaluate.Measure) (rows []taskRow, hindsight bool) {
	for _, name := range r.Ranked(m.Name) {
		row := taskRow{name: r.WithLayer(name), method: name}
		for _, group := range r.Groups {
			s, _ := r.At(group, name, m.Name)
			row.cells = append(row.cells, s)
		}
		rows = append(rows, row)
	}
	if m.Name == "average precision" {
		for _, l := range r.Layers {
			best := l.Best[len(l.Best)-1]
			row := taskRow{name: fmt.Sprintf("%s, %s in hindsight", l.Method, r.LayerName(best))}
			row.method = l.Method
			for g := range r.Groups {
				row.cells = append(row.cells, l.Table[g][slices.Index(l.Layers, best)])
			}
			rows, hindsight = append(rows, row), true
		}
	}
	last := len(r.Groups) - 1
	slices.SortStableFunc(rows, func(a, b taskRow) int {
		return cmp.Compare(b.cells[last].Mean, a.cells[last].Mean)
	})
	if m.Lower {
		slices.Reverse(rows)
	}
	return rows, hindsight
}

// narrowCell writes a summary in few columns.
func narrowCell(s evaluate.Summary) string {
	if s.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ±%.2f", s.Mean, (s.High-s.Low)/2)
}
