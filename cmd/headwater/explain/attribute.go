package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
)

// attributeFlags are the flags of headwater attribute.
type attributeFlags struct {
	opts          attribution.Options
	input, output string
	cut           []int // target and source; nil without --cut
	maxMemory     int64 // bytes; 0: what the machine has
	states        bool  // hidden states alone will do, without a method
}

func attributeCommand(k *cli.Kit) *cobra.Command {
	var f attributeFlags
	cmd := &cobra.Command{
		Use:   "attribute --input FILE --methods NAMES -o FILE",
		Short: "compute methods on attention from any program",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if err := rowsOnly(f.opts.Methods); err != nil {
				return err
			}
			if f.cut != nil {
				if err := cli.NeedFlags(cmd, "input"); err != nil {
					return err
				}
				return cut(ctx, k, f)
			}
			if err := cli.NeedFlags(cmd, "input", "methods", "output"); err != nil {
				return err
			}
			return attribute(ctx, k, f)
		},
	}
	cmd.Flags().StringVarP(&f.input, "input", "i", "", "read the safetensors `FILE`")
	cli.MethodsFlag(cmd, &f.opts, "")
	cli.OptionFlags(cmd, &f.opts, attribution.OptionTable(attribution.MethodOptions))
	cmd.Flags().Func("cut", "say which edges limit the flow from a token to an input token, by "+
		"their `numbers` TARGET:SOURCE from 0", func(s string) (err error) {
		target, source, ok := strings.Cut(s, ":")
		f.cut = make([]int, 2)
		if !ok || cli.SetWhole(&f.cut[0], target, 0, cli.MaxIndex) != nil ||
			cli.SetWhole(&f.cut[1], source, 0, cli.MaxIndex) != nil {
			return fmt.Errorf("want TARGET:SOURCE, two whole numbers from 0 to %d", cli.MaxIndex)
		}
		return nil
	})
	cmd.Flags().StringVarP(&f.output, "output", "o", "", cli.OutputFlag)
	cli.MaxMemoryFlag(cmd, &f.maxMemory, "what is made of the tensors")
	return cmd
}

// rowsOnly refuses methods that ask the model again, for gradients or other texts: a file has rows
// alone.
func rowsOnly(methods []string) error {
	for _, name := range methods {
		m, err := attribution.LookupMethod(name)
		if err != nil {
			return err
		}
		if m.Scorer == "" {
			continue
		}
		s, err := scorer.Lookup(m.Scorer)
		if err != nil {
			return err
		}
		return cli.Usagef("--methods %s: it asks the model again (it needs %s), and a file has "+
			"only what was recorded; "+
			"headwater explain --methods %s takes a prompt and a model", name, s.Info().Needs, name)
	}
	return nil
}

// cut writes the edges that limit a flow, a line each.
func cut(ctx context.Context, k *cli.Kit, f attributeFlags) error {
	if len(f.opts.Methods) == 0 {
		f.opts.Methods = []string{"flow"}
	}
	use := func(out *cli.Output, _ *checkpoint.File, in attribution.Input) error {
		g, err := attribution.NewFlowGraph(ctx, in, f.opts, f.cut[0], f.cut[1])
		if err != nil {
			return fmt.Errorf("%s: %w", f.input, err)
		}
		c := g.Cut
		fmt.Fprintf(out, "flow from token %d after layer %d to input token %d: %.6g, limited by\n",
			c.Target, c.Layer, c.Source, c.Flow)
		for _, e := range c.Edges {
			fmt.Fprintf(out, "layer %d: token %d looks at %d, %.6g\n", e.Layer, e.Target, e.Source,
				e.Width)
		}
		return nil
	}
	return onTensors(ctx, k, f, use)
}

// onTensors gives use what methods need of a file, and a result to write, which is kept if use has
// no error.
func onTensors(
	ctx context.Context, k *cli.Kit, f attributeFlags,
	use func(*cli.Output, *checkpoint.File, attribution.Input) error,
) error {
	out, err := k.Create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.Abandon()
	err = withTensors(f, func(file *checkpoint.File, in attribution.Input) error {
		return use(out, file, in)
	})
	if err != nil {
		return err
	}
	return out.Commit()
}

// withTensors gives use what methods need of a file.
func withTensors(
	f attributeFlags, use func(*checkpoint.File, attribution.Input) error,
) error {
	file, err := checkpoint.Open(f.input)
	if err != nil {
		return err
	}
	defer file.Close()
	methods := f.opts.Methods
	if f.states && statesAlone(file) {
		methods = nil
	}
	tensors, err := mixingTensors(file, methods)
	if err != nil {
		return err
	}
	in := attribution.Input{
		Tensors: tensors, Memory: models.LimitMemory(f.maxMemory), Sinks: cli.HasSinks(file),
	}
	left := in.Memory.Left
	scale, err := scaleOf(file)
	if err != nil {
		return fmt.Errorf("%s: %w", f.input, err)
	}
	if in, err = in.WithAttention(scale); err != nil {
		return fmt.Errorf("%s: %w", f.input, err)
	}
	cli.CollectWithin(left)
	return use(file, in)
}

// attribute computes methods on the tensors of a file.
func attribute(ctx context.Context, k *cli.Kit, f attributeFlags) error {
	if slices.Contains(f.opts.Methods, "flow") {
		f.opts.Methods = append(f.opts.Methods, "flow-normalized")
	}
	use := func(out *cli.Output, file *checkpoint.File, in attribution.Input) error {
		a, err := attributeInput(ctx, k, f, in)
		if err != nil {
			return err
		}
		return writeAttribution(out, file, a)
	}
	return onTensors(ctx, k, f, use)
}

// attributeInput computes methods on tensors, shows its progress and tells what was noticed, which
// few results have room for. An error names the file.
func attributeInput(
	ctx context.Context, k *cli.Kit, f attributeFlags, in attribution.Input,
) (*attribution.Attribution, error) {
	line := k.Progress()
	f.opts.OnProgress = line.Report
	a, err := attribution.Attribute(ctx, in, f.opts)
	line.Clear()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.input, err)
	}
	for _, warning := range a.Warnings {
		k.Say("note: %s", warning)
	}
	return a, nil
}

// mixingTensors returns the tensors that methods need, which are read from the file when their
// numbers are. In the place of attention that is not there it returns the queries and keys that
// are.
func mixingTensors(f *checkpoint.File, methods []string) ([]attribution.TensorReader, error) {
	var tensors []attribution.TensorReader
	for _, name := range methods {
		m, err := attribution.LookupMethod(name)
		if err != nil {
			return nil, err
		}
		needed := []string{m.Mixing}
		if m.Mixing == string(trace.Attention) && !f.Has(m.Mixing) {
			if parts := queriesAndKeys(f); len(parts) > 0 {
				needed = parts
			}
		}
		for _, from := range needed {
			if slices.ContainsFunc(tensors,
				func(t attribution.TensorReader) bool { return t.Name == from }) {
				continue
			}
			if !f.Has(from) {
				return nil, fmt.Errorf("%s has no tensor %q, which method %s needs; it has %s",
					f.Name(), from, name, cli.QuotedNames(f.Names()))
			}
			t, err := tensorOf(f, from)
			if err != nil {
				return nil, err
			}
			tensors = append(tensors, t)
		}
	}
	return tensors, nil
}

// tensorOf returns a tensor that is read from the file when its numbers are.
func tensorOf(f *checkpoint.File, name string) (attribution.TensorReader, error) {
	shape, err := f.Shape(name)
	return attribution.TensorReader{
		Name: name, Shape: shape,
		Read: func(dst []float32, first int) error { return f.Float32At(dst, name, first) },
	}, err
}

// queriesAndKeys returns which of the tensors q and k a file has.
func queriesAndKeys(f *checkpoint.File) []string {
	return slices.DeleteFunc([]string{attribution.Queries, attribution.Keys},
		func(name string) bool { return !f.Has(name) })
}

// scaleKey is in the metadata of a file with queries and keys: what q·k is multiplied by.
const scaleKey = "scale"

// scaleOf reads the scale of q·k in the metadata of a file; 0, the default, if it has none.
func scaleOf(f *checkpoint.File) (float64, error) {
	text, ok := f.Metadata()[scaleKey]
	if !ok || len(queriesAndKeys(f)) == 0 {
		return 0, nil
	}
	scale, err := strconv.ParseFloat(text, 64)
	if err != nil || !(scale > 0) || math.IsInf(scale, 0) {
		return 0, fmt.Errorf("%s in its metadata is %.60q; want what q·k is multiplied by before "+
			"the softmax, a number above 0 such as 0.125, or leave it out for 1/√E", scaleKey, text)
	}
	return scale, nil
}

// statesAlone reports whether a file has hidden states and nothing that attention is read from.
func statesAlone(f *checkpoint.File) bool {
	return f.Has(string(trace.Hidden)) && !f.Has(string(trace.Attention)) &&
		len(queriesAndKeys(f)) == 0
}

// writeAttribution writes a tensor for each method and, in the metadata, the settings that made it.
func writeAttribution(out *cli.Output, f *checkpoint.File, a *attribution.Attribution) error {
	out.What = message.Count(len(a.Order), "tensor") + ": " + message.List(a.Order)
	about := map[string]string{"version": strconv.Itoa(attribution.Version)}
	if hash, ok := f.Metadata()["model_hash"]; ok {
		about["model_hash"] = hash
	}
	var tensors []checkpoint.Tensor
	for _, name := range a.Order {
		m := a.Methods[name]
		settings, err := json.Marshal(m.Options)
		if err != nil {
			return err
		}
		about[name] = string(settings)
		tensors = append(tensors, checkpoint.Tensor{Name: name, Shape: m.Shape[:], Data: m.Data})
	}
	return checkpoint.Write(out, tensors, about)
}
