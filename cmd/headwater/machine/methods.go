package machine

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/internal/cli"
)

// methodList is the output of headwater methods.
type methodList struct {
	Methods      []attribution.Method `json:"methods"`
	Mixings      []part               `json:"mixings"`
	Aggregations []part               `json:"aggregations"`
	Scorers      []part               `json:"scorers"`
}

// part is a mixing, an aggregation or a scorer.
type part struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Formula string `json:"formula,omitempty"`
	Paper   string `json:"paper"`
	Cost    string `json:"cost"`
	Needs   string `json:"needs,omitempty"`
}

func methodsCommand(k *cli.Kit) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "methods",
		Short: "list the methods: what a value means, what it costs, where it comes from",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			list, err := allMethods()
			if err != nil {
				return err
			}
			if asJSON {
				return cli.WriteJSON(k.Stdout, list)
			}
			return writeMethods(k, list)
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// allMethods returns everything that is registered, by name.
func allMethods() (methodList, error) {
	list := methodList{Methods: attribution.Methods()}
	for _, name := range attribution.MixingNames() {
		m, err := attribution.LookupMixing(name)
		if err != nil {
			return list, err
		}
		list.Mixings = append(list.Mixings,
			part{Name: name, Summary: m.Summary, Paper: m.Paper, Cost: m.Cost})
	}
	for _, name := range aggregation.Names() {
		a, err := aggregation.Lookup(name)
		if err != nil {
			return list, err
		}
		i := a.Info()
		list.Aggregations = append(list.Aggregations,
			part{Name: name, Summary: i.Summary, Formula: i.Formula, Paper: i.Paper, Cost: i.Cost})
	}
	for _, name := range scorer.Names() {
		s, err := scorer.Lookup(name)
		if err != nil {
			return list, err
		}
		i := s.Info()
		list.Scorers = append(list.Scorers,
			part{name, i.Summary, i.Formula, i.Paper, i.Cost, i.Needs})
	}
	return list, nil
}

// writeMethods writes a block for each method, then its parts.
func writeMethods(k *cli.Kit, list methodList) error {
	w := bufio.NewWriter(k.Stdout)
	for _, m := range list.Methods {
		kind, needs := kindOf(m)
		fmt.Fprintln(w, m.Name)
		writeFields(w, [][2]string{
			{"value", m.Summary},
			{"kind", kind},
			{"formula", m.Formula},
			{"cost", m.Cost},
			{"needs", needs},
			{"source", m.Paper},
		})
	}
	fmt.Fprintf(w, "Any mixing+aggregation is a method, too, such as value-zeroing+flow.\n\n")
	for _, group := range []struct {
		kind  string
		parts []part
	}{{"mixing", list.Mixings}, {"aggregation", list.Aggregations}} {
		for _, part := range group.parts {
			fmt.Fprintln(w, group.kind, part.Name)
			writeFields(w, [][2]string{
				{"value", part.Summary},
				{"formula", part.Formula},
				{"cost", part.Cost},
				{"source", part.Paper},
			})
		}
	}
	return w.Flush()
}

// kindOf returns the parts of a method, and what it needs from a model.
func kindOf(m attribution.Method) (kind, needs string) {
	if m.Scorer != "" {
		s, err := scorer.Lookup(m.Scorer)
		if err != nil {
			return "scorer", ""
		}
		i := s.Info()
		kind = "scorer of a prediction"
		if i.Signed {
			kind += ", with signs"
		}
		var quantities []string
		for _, q := range i.Quantities {
			quantities = append(quantities, string(q))
		}
		return kind + ": " + strings.Join(quantities, ", "), i.Needs
	}
	kind = m.Mixing + " × " + m.Aggregation
	if m.Residual > 0 {
		kind += fmt.Sprintf(", residual %g", m.Residual)
	}
	return kind, "the rows of " + m.Mixing
}

// writeFields writes names and values in two columns and an empty line after them, without the
// empty values.
func writeFields(w *bufio.Writer, fields [][2]string) {
	for _, f := range fields {
		if f[1] != "" {
			fmt.Fprintf(w, "  %-9s%s\n", f[0], f[1])
		}
	}
	fmt.Fprintln(w)
}
