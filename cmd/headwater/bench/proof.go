package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/headwater-ml/headwater/attribution/evaluate"
)

// withLayer is a method's name, with the layer that is scored if it has one.
func (r benchReport) withLayer(name string) string {
	if layer, ok := r.PickedLayer(name); ok {
		return fmt.Sprintf("%s, layer %d", name, layer)
	}
	return name
}

// writeProofs writes what changes of words did.
func (r benchReport) writeProofs(w io.Writer) error {
	if len(r.Proofs) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nproof of the evidence: words that decide the answer when they are "+
		"changed, of words changed,\n"+
		"and what that loses of the preference for the answer: mean, least and most; above 1 "+
		"another answer is preferred\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	pairs := slices.ContainsFunc(r.Proofs, func(p evaluate.Proofs) bool { return p.Answered > 0 })
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
	return t.Flush()
}

// moves returns how many words decide, and how much is lost without them.
func moves(m evaluate.Moves) string {
	if m.Words == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d: %.2f (%.2f to %.2f)", m.Deciding, m.Words, m.Loss.Mean, m.Least,
		m.Most)
}

// logits writes how far a difference of logits moved.
func logits(m evaluate.Moves) string {
	if m.Logits.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", m.Logits.Mean)
}

// writeLayers writes every layer of methods of one layer.
func (r benchReport) writeLayers(w io.Writer) error {
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
		fmt.Fprintf(t, "\t%d", l)
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
		fmt.Fprintf(t, "\tlayer %d\n", l.Best[last])
	}
	return t.Flush()
}

// everywhere is whether all cases have all layers, as those of one model do.
func everywhere(l evaluate.Layers) bool {
	row := l.Table[len(l.Table)-1]
	return !slices.ContainsFunc(row, func(s evaluate.Summary) bool { return s.N != row[0].N })
}
