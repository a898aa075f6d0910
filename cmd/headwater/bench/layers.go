package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
)

// cuesFlags are the flags of headwater bench cues.
type cuesFlags struct {
	cli.ModelFlags
	opts          evaluate.CurveOptions
	input, output string
	cases         int
	seed          uint64
	json          bool
}

func benchCuesCommand(k *cli.Kit) *cobra.Command {
	f := cuesFlags{cases: 20}
	cmd := &cobra.Command{
		Use:   "cues [--methods NAMES] [--input FILE]",
		Short: "score every layer of methods on sentences whose cues are known",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.input == "" && cli.Given(cmd, "model") {
				return cli.Usagef("bench cues needs --input for a model other than the embedded " +
					"one")
			}
			return benchCues(cmd.Context(), k, f)
		},
	}
	f.Add(cmd)
	cli.MethodsFlag(cmd, &f.opts.Explain, " (default those of explain)")
	cli.OptionFlags(cmd, &f.opts.Explain,
		attribution.OptionTable(attribution.MethodOptions, attribution.ScorerOptions))
	cmd.Flags().StringVarP(&f.input, "input", "i", "", "take the cases of this `FILE`, a line of "+
		"JSON each; - is standard input")
	cmd.Flags().BoolVar(&f.opts.EveryToken, "every-token", false, "rank control tokens such as "+
		"[CLS] as well")
	cli.WholeFlag(cmd.Flags(), &f.cases, "cases", 1, maxBenchCases, "take `N` sentences of each "+
		"kind of the grammar", "20")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "`number` that the sentences are drawn with, from "+
		"0 to 18446744073709551615")
	cli.JSONFlag(cmd, &f.json)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", cli.OutputFlag)
	return cmd
}

// cuesResult is what headwater bench cues --json writes.
type cuesResult struct {
	*evaluate.CueCurves
	// Pairs are the words of minimal pairs that the model prefers; nil if no case has one.
	Pairs *evaluate.Preferences `json:"pairs,omitempty"`
}

// benchCues compares and writes.
func benchCues(ctx context.Context, k *cli.Kit, f cuesFlags) error {
	out, err := k.Create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.Abandon()
	var read []caseOrPair
	var name string
	if f.input != "" {
		read, name, err = cli.ReadLines(ctx, k, f.input, readCaseOrPair)
		if err == nil && len(read) == 0 {
			err = fmt.Errorf("%s has no cases", name)
		}
		if err != nil {
			return err
		}
	}
	m, err := k.Open(ctx, f.ModelFlags)
	if err != nil {
		return err
	}
	cases, err := casesOf(k, m, read)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if f.input == "" {
		cases = grammarCases(m, f.cases, f.seed, true)
	}
	cases = slices.DeleteFunc(cases, func(c evaluate.Case) bool { return c.Selection })
	f.opts.Methods, f.opts.Explain.Methods = f.opts.Explain.Methods, nil
	line := k.Progress()
	defer line.Clear()
	f.opts.OnProgress = line.Report
	r := cuesResult{}
	// A pair of BLiMP has no evidence of its own.
	aligned := slices.DeleteFunc(slices.Clone(cases), func(c evaluate.Case) bool {
		return c.Evidence == nil && read != nil
	})
	if n := len(cases) - len(aligned); n > 0 && slices.ContainsFunc(read, caseOrPair.isPair) {
		k.Say("note: %s %s without evidence in the text: only the preference is counted",
			message.Count(n, "pair"), message.IsOrAre(n))
	} else {
		aligned = cases
	}
	if len(aligned) > 0 {
		if r.CueCurves, err = evaluate.AlignLayers(ctx, m, aligned, f.opts); err != nil {
			return err
		}
	}
	if r.Pairs, err = preferred(ctx, k, m, cases, f.opts.Explain.Specials); err != nil {
		return err
	}
	line.Clear()
	return out.Result(f.json, r, r.write)
}

// preferred compares the minimal pairs among cases; nil if there is none.
func preferred(
	ctx context.Context, k *cli.Kit, m *models.Model, cases []evaluate.Case, s trace.Specials,
) (*evaluate.Preferences, error) {
	pair := func(c evaluate.Case) bool { return c.Continuation != "" && c.Contrast != "" }
	if !slices.ContainsFunc(cases, pair) {
		return nil, nil
	}
	line := k.Progress()
	defer line.Clear()
	line.Show("comparing minimal pairs")
	pairs, err := evaluate.Prefer(ctx, m, cases, s)
	if err != nil {
		return nil, err
	}
	if n, first := leftOut(pairs); n > 0 && pairs.Tried > 0 {
		line.Clear()
		k.Say("note: the preference is without %s, the first because %s",
			message.Count(n, "case"), first)
	}
	return pairs, nil
}

// caseOrPair is a line of the input: a case, or a minimal pair of BLiMP.
type caseOrPair struct {
	one  evaluate.Case
	pair *evaluate.MinimalPair
}

func (c caseOrPair) isPair() bool { return c.pair != nil }

// readCaseOrPair reads a line of headwater bench cues --input.
func readCaseOrPair(text []byte, source string) (c caseOrPair, err error) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(text, &keys) != nil || keys["sentence_good"] == nil {
		c.one, err = readCase(text, source)
		return c, err
	}
	p, err := evaluate.ParseMinimalPair(text)
	return caseOrPair{pair: &p}, err
}

// casesOf returns the cases of lines for a model. It says how many pairs cannot be asked, and why
// for the first of them.
func casesOf(k *cli.Kit, m trace.Model, read []caseOrPair) ([]evaluate.Case, error) {
	var cases []evaluate.Case
	first, left := "", 0
	for _, x := range read {
		if x.pair == nil {
			cases = append(cases, x.one)
			continue
		}
		c, reason, err := x.pair.Case(m)
		if err != nil {
			return nil, err
		}
		if reason == "" {
			cases = append(cases, c)
			continue
		}
		if left++; first == "" {
			first = reason
		}
	}
	if left > 0 && len(cases) == 0 {
		return nil, fmt.Errorf("there is no minimal pair that can be asked: %s", first)
	}
	if left > 0 {
		k.Say("note: %s %s left out, the first because %s", message.Count(left, "pair"),
			message.IsOrAre(left), first)
	}
	return cases, nil
}

// write writes tables for people: one for each group.
func (r cuesResult) write(w io.Writer) error {
	if r.Pairs != nil && r.CueCurves == nil {
		r.writePreference(w)
		return nil
	}
	fmt.Fprintf(w, "%s on %s; dot and average precision by layer, means over cases\n",
		message.Count(r.Cases, "case"), r.Model.Name)
	if r.Pairs != nil && r.Pairs.Tried > 0 {
		r.writePreference(w)
	}
	for g, group := range r.Groups {
		chance := r.Chance[g]
		fmt.Fprintf(w, "\n%s (%s; by chance %.3f and %.3f)\n\n", group,
			message.Count(chance.AveragePrecision.N, "case"), chance.Dot.Mean,
			chance.AveragePrecision.Mean)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprint(t, "method\tlayer\tdot\taverage precision\n")
		for _, c := range r.Curves {
			for k, level := range c.Levels[g] {
				dot := "–"
				if level.Dot.N > 0 {
					dot = fmt.Sprintf("%.3f", level.Dot.Mean)
				}
				layer := strconv.Itoa(c.Layers[k])
				if len(c.Layers) == 1 {
					layer = "all"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%.3f\n", c.Method, layer, dot,
					level.AveragePrecision.Mean)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// writePreference writes how often the model prefers the right word, or why that was not asked.
func (r cuesResult) writePreference(w io.Writer) {
	if _, reason := leftOut(r.Pairs); r.Pairs.Tried == 0 {
		fmt.Fprintf(w, "No minimal pair was compared: %s.\n", reason)
		return
	}
	fmt.Fprintf(w, "The model prefers the right word in %d of %s.\n", r.Pairs.Right,
		message.Count(r.Pairs.Tried, "minimal pair"))
}

// leftOut returns how many pairs were not tried, and why the first of them was not.
func leftOut(all *evaluate.Preferences) (n int, first string) {
	for _, pair := range all.Pairs {
		if pair.LeftOut == "" {
			continue
		}
		if n++; n == 1 {
			first = pair.LeftOut
		}
	}
	return n, first
}

// probeFlags are the flags of headwater bench probe.
type probeFlags struct {
	cli.ModelFlags
	opts          evaluate.ProbeOptions
	explain       attribution.Options // of which texts need Specials
	input, output string
	json          bool
}

func benchProbeCommand(k *cli.Kit) *cobra.Command {
	f := probeFlags{}
	cmd := &cobra.Command{
		Use:   "probe --input FILE",
		Short: "measure how well a linear probe reads labels in each hidden state",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.NeedFlags(cmd, "input"); err != nil {
				return err
			}
			return benchProbe(cmd.Context(), k, f)
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVarP(&f.input, "input", "i", "", "take the examples of this `FILE`, a line "+
		"of JSON each; - is standard input")
	cmd.Flags().Func("l2", "`WEIGHT` of the squared probe weights, from 0.001 to 1000000 "+
		"(default 1)", func(s string) (err error) {
		f.opts.L2, err = strconv.ParseFloat(s, 64)
		if err != nil || !(f.opts.L2 >= 1e-3 && f.opts.L2 <= 1e6) {
			return errors.New("want a number from 0.001 to 1000000")
		}
		return nil
	})
	cmd.Flags().Uint64Var(&f.opts.Seed, "seed", 0, "`number` that shuffles the examples, from 0 "+
		"to 18446744073709551615")
	cli.OptionFlag(cmd.Flags(), &f.explain, "specials")
	cli.JSONFlag(cmd, &f.json)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", cli.OutputFlag)
	return cmd
}

// benchProbe probes and writes.
func benchProbe(ctx context.Context, k *cli.Kit, f probeFlags) error {
	out, err := k.Create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.Abandon()
	examples, err := readLabelled(ctx, k, f.input)
	if err != nil {
		return err
	}
	m, err := k.Open(ctx, f.ModelFlags)
	if err != nil {
		return err
	}
	line := k.Progress()
	defer line.Clear()
	f.opts.OnProgress = line.Report
	f.opts.Specials = f.explain.Specials
	probed, err := evaluate.Probe(ctx, m, examples, f.opts)
	if err != nil {
		return err
	}
	line.Clear()
	return out.Result(f.json, probed, func(w io.Writer) error { return writeProbing(w, probed) })
}

// readLabelled reads the examples of a file.
func readLabelled(ctx context.Context, k *cli.Kit, path string) ([]evaluate.Labelled, error) {
	all, name, err := cli.ReadLines(ctx, k, path, readExample)
	if err == nil && len(all) < 2 {
		err = fmt.Errorf("%s has %s; probing needs 2 or more", name,
			message.Count(len(all), "example"))
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// readExample reads a line of headwater bench probe --input.
func readExample(text []byte, _ string) (e evaluate.Labelled, err error) {
	none := [2]int{-1}
	e.Span = none
	err = cli.ReadObject(text, cli.TextKey("text", &e.Text), cli.TextKey("label", &e.Label),
		cli.ReadKey("span", &e.Span, spanOf))
	switch {
	case err != nil:
		return e, err
	case e.Text == "" || e.Label == "":
		return e, errors.New(`it needs a "text" and a "label", neither of them empty`)
	case e.Span == none:
		e.Span = [2]int{}
		return e, nil
	}
	if e.Span[0] >= e.Span[1] || e.Span[1] > len(e.Text) {
		return e, fmt.Errorf(`"span" is bytes %d to %d of a text of %d bytes; want a begin before `+
			"the end, and the end in the text", e.Span[0], e.Span[1], len(e.Text))
	}
	return e, nil
}

// writeProbing writes a table for people.
func writeProbing(w io.Writer, r *evaluate.Probing) error {
	first := r.States[0]
	fmt.Fprintf(w, "%s of %s on %s; without vectors they take %.1f nats\n\n",
		message.Count(first.Examples, "label"), plural(len(r.Labels), "class", "classes"),
		r.Model.Name, first.Uniform)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "hidden state\tnats\tbits\tcompression\tright in the last block\n")
	for l, c := range r.States {
		last := c.Blocks[len(c.Blocks)-1]
		compression := "–"
		if c.Nats > 0 {
			compression = fmt.Sprintf("%.2f", float64(c.Compression))
		}
		fmt.Fprintf(t, "%d\t%.1f\t%.1f\t%s\t%d of %d\n", l, c.Nats, c.Bits, compression, last.Right,
			last.End-last.Begin)
	}
	return t.Flush()
}

// plural says how many of something there are.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
