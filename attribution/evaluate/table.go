package evaluate

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// ReadReport reads the report in a file that headwater bench methods --json wrote.
func ReadReport(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, pkg.Errorf("the report: %w", err)
	}
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, pkg.Errorf("%s is no report: %w", path, err)
	}
	return r, nil
}

// Better names the good end of a measure.
func (m Measure) Better() string {
	if m.Lower {
		return "low is good"
	}
	return "high is good"
}

// WriteTable writes a measure as text: a line for each method, the best first, and a column for
// each group. It returns an error if the report does not have the measure.
func (r *Report) WriteTable(w io.Writer, measure string) error {
	k := slices.IndexFunc(r.Measures, func(m Measure) bool { return m.Name == measure })
	if k < 0 {
		return pkg.Errorf("the report has no measure %.60q", measure)
	}
	fmt.Fprintf(w, "\n%s (%s; mean and 95 %% confidence)\n\n", measure, r.Measures[k].Better())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "method\t%s\n", strings.Join(r.Groups, "\t"))
	for _, name := range r.Ranked(measure) {
		fmt.Fprint(t, r.WithLayer(name))
		for _, group := range r.Groups {
			s, _ := r.At(group, name, measure)
			fmt.Fprintf(t, "\t%s", s)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// WriteLeads writes as text how far each method is above a line of [Lines], case by case: the mean
// and its 95 % interval. It writes nothing if no case has the line.
func (r *Report) WriteLeads(w io.Writer, line string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, lead := range r.Leads {
		for i, s := range lead.Methods {
			if lead.Line == line && !slices.Contains(Lines(), r.Methods[i]) {
				fmt.Fprintf(t, "%s\tabove %s by\t%+.2f [%+.2f, %+.2f]\n", r.Methods[i], line,
					s.Mean, s.Low, s.High)
			}
		}
	}
	return t.Flush()
}

// WithLayer returns a method's name, with the layer that is scored if it has one.
func (r *Report) WithLayer(name string) string {
	if layer, ok := r.PickedLayer(name); ok {
		return fmt.Sprintf("%s, %s", name, r.LayerName(layer))
	}
	return name
}

// WriteProofs writes as text what changes of words did, and why cases are not proven. It writes
// nothing if no case has changes.
func (r *Report) WriteProofs(w io.Writer) error {
	if len(r.Proofs) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nproof of the evidence: words that decide the answer when they are "+
		"changed, of words changed,\n"+
		"and what that loses of the preference for the answer: mean, least and most; above 1 "+
		"another answer is preferred\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	pairs := slices.ContainsFunc(r.Proofs, func(p Proofs) bool { return p.Answered > 0 })
	if pairs {
		fmt.Fprint(t, "\tanswered\tproven\tno other word decides")
	} else {
		fmt.Fprint(t, "\tproven")
	}
	fmt.Fprint(t, "\tevidence\tlogits\tother words\twords of form\n")
	for _, p := range r.Proofs {
		fmt.Fprint(t, p.Group)
		if pairs {
			fmt.Fprintf(t, "\t%d of %d", p.Answered, p.Cases)
		}
		fmt.Fprintf(t, "\t%d of %d", p.Proven, p.Cases)
		if pairs {
			fmt.Fprintf(t, "\t%d of %d", p.Strict, p.Proven)
		}
		fmt.Fprintf(t, "\t%s\t%s\t%s\t%s\n", moves(p.Evidence), logits(p.Evidence),
			moves(p.Others), moves(p.Forms))
	}
	if err := t.Flush(); err != nil || len(r.Refuted) == 0 {
		return err
	}
	fmt.Fprint(w, "\nnot proven:\n\n")
	for _, x := range r.Refuted[:min(len(r.Refuted), maxRefuted)] {
		fmt.Fprintf(w, "%.200q\n    %s\n", x.Prompt, x.Reason)
	}
	if more := len(r.Refuted) - maxRefuted; more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	return nil
}

// maxRefuted is how many cases that are not proven are printed.
const maxRefuted = 20

// moves returns how many words decide, and how much is lost without them.
func moves(m Moves) string {
	if m.Words == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d: %.2f (%.2f to %.2f)", m.Deciding, m.Words, m.Loss.Mean, m.Least,
		m.Most)
}

// logits writes how far a difference of logits moved.
func logits(m Moves) string {
	if m.Logits.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", m.Logits.Mean)
}

// WriteLayers writes as text every layer of methods of one layer. It writes nothing if the report
// has none, or if layers differ between the cases.
func (r *Report) WriteLayers(w io.Writer) error {
	if len(r.Layers) == 0 || len(r.Layers[0].Layers) < 2 || !everywhere(r.Layers[0]) {
		return nil
	}
	fmt.Fprint(w, "\naverage precision of methods of one layer, by layer, over all cases; "+
		"* is the layer scored")
	if r.Layers[0].Chosen {
		fmt.Fprint(w, ", which did best on other cases")
	}
	fmt.Fprint(w, "\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "method")
	for _, l := range r.Layers[0].Layers {
		fmt.Fprintf(t, "\t%s", trace.Info{EncoderLayers: r.EncoderLayers}.LayerLabel(l))
	}
	fmt.Fprint(t, "\tbest in hindsight, not a score\n")
	for _, l := range r.Layers {
		last := len(l.Table) - 1
		fmt.Fprint(t, l.Method)
		for k, s := range l.Table[last] {
			mark := ""
			if l.Layers[k] == l.Picked[last] {
				mark = "*"
			}
			fmt.Fprintf(t, "\t%.3f%s", s.Mean, mark)
		}
		fmt.Fprintf(t, "\t%s\n", r.LayerName(l.Best[last]))
	}
	return t.Flush()
}

// everywhere is whether all cases have all layers, as those of one model do.
func everywhere(l Layers) bool {
	row := l.Table[len(l.Table)-1]
	return !slices.ContainsFunc(row, func(s Summary) bool { return s.N != row[0].N })
}
