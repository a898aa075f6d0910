package machine

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/message"
)

// methodList is the output of headwater methods.
type methodList struct {
	Methods      []attribution.Method `json:"methods"`
	Mixings      []part               `json:"mixings"`
	Aggregations []part               `json:"aggregations"`
	Scorers      []part               `json:"scorers"`
	Options      []part               `json:"options,omitempty"` // of one method
}

// part is a mixing, an aggregation, a scorer or an option.
type part struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Formula string `json:"formula,omitempty"`
	Paper   string `json:"paper,omitempty"`
	Cost    string `json:"cost,omitempty"`
	Needs   string `json:"needs,omitempty"`
}

func methodsCommand(k *cli.Kit) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "methods [NAME]",
		Short: "list the methods, or say of one what a value means, its formula, cost and options",
		Example: `  headwater methods
  headwater methods rollout
  headwater methods value-zeroing+flow`,
		ValidArgs: attribution.MethodNames(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef("methods takes one name, got %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := allMethods()
			if err == nil && len(args) > 0 {
				err = list.keep(args[0])
			}
			switch {
			case err != nil:
				return err
			case asJSON:
				return cli.WriteJSON(k.Stdout, list)
			case len(args) > 0:
				return writeMethods(k, list)
			}
			return listMethods(k, list)
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// keep leaves the methods that a name stands for, their parts, and adds their options.
func (l *methodList) keep(name string) (err error) {
	if l.Methods, err = attribution.LookupMethods(name); err != nil {
		return err
	}
	var parts []string
	for _, m := range l.Methods {
		parts = append(parts, m.Mixing, m.Aggregation, m.Scorer)
	}
	for _, list := range []*[]part{&l.Mixings, &l.Aggregations, &l.Scorers} {
		*list = slices.DeleteFunc(*list,
			func(p part) bool { return !slices.Contains(parts, p.Name) })
	}
	for _, row := range attribution.OptionTable() {
		if slices.ContainsFunc(l.Methods, row.AppliesTo) && row.Flag+row.Key != "" {
			spelling := "--" + row.Flag
			if row.Key != "" {
				spelling = "--set " + row.Setting()
			}
			l.Options = append(l.Options,
				part{Name: spelling, Summary: strings.ReplaceAll(row.Usage(), "`", "")})
		}
	}
	return nil
}

// listMethods writes a line for each method, and of what others are made.
func listMethods(k *cli.Kit, list methodList) error {
	var text strings.Builder
	for _, m := range list.Methods {
		fmt.Fprintf(&text, "%-25s %s\n", m.Name, m.Summary)
	}
	fmt.Fprintf(&text, "\nheadwater methods NAME gives the formula, paper, cost and options of "+
		"one. Any mixing+aggregation\nis a method, too, such as value-zeroing+flow.\n"+
		"mixings: %s\naggregations: %s\n", message.List(attribution.MixingNames()),
		message.List(aggregation.Names()))
	_, err := io.WriteString(k.Stdout, text.String())
	return err
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

// writeMethods writes a block for each method, then their parts and options.
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
	if list.Options != nil {
		fmt.Fprintln(w, "options")
	}
	for _, o := range list.Options {
		fmt.Fprintf(w, "  %-32s %s\n", o.Name, o.Summary)
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
