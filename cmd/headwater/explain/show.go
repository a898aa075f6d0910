package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/export"
)

// showFlags are the flags of headwater show.
type showFlags struct {
	attributeFlags
	view  explainFlags // how it is shown and saved
	inseq bool         // the file is one of Inseq
}

func showCommand(k *cli.Kit) *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use: "show [flags] FILE.safetensors|FILE.json",
		Short: "show attention or hidden states that another program recorded, or what Inseq " +
			"attributed",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := oneFile(cmd, args); err != nil {
				return err
			}
			f.input = args[0]
			f.inseq = strings.HasSuffix(strings.ToLower(f.input), ".json")
			return f.check(cmd)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.inseq {
				return showInseq(cmd.Context(), k, f)
			}
			return showFile(cmd.Context(), k, f)
		},
	}
	f.view.methodsFlag(cmd, &f.opts, " (default rollout, and similarity if there are hidden "+
		"states; views heads and flow have their own)")
	cli.OptionFlags(cmd, &f.opts, attribution.OptionTable(attribution.MethodOptions))
	f.view.outputFlags.add(cmd, "")
	f.view.viewFlags(cmd)
	cli.MaxMemoryFlag(cmd, &f.maxMemory, "what is made of the tensors")
	return cmd
}

// check checks what cobra does not, and sets what depends on other flags.
func (f *showFlags) check(cmd *cobra.Command) error {
	v := &f.view
	v.opts = f.opts
	if v.show.View().Methods == 1 && len(f.opts.Methods) == 0 {
		v.opts.Methods = []string{"raw"} // a file has attention
	}
	err := cmp.Or(v.outputFlags.check(), rowsOnly(f.opts.Methods))
	if kind := v.show.Kind; err == nil && f.inseq && (len(f.opts.Methods) > 0 ||
		kind != "" && kind != render.KindHeatmap && kind != render.KindText) {
		err = cli.Usagef("a file of Inseq has the values of its own methods: it is shown without " +
			"--methods, and as heatmap or text")
	}
	if err == nil && v.show.View().Compares && len(f.opts.Methods) != 2 {
		err = cli.Usagef("--view compare compares two methods, for example --methods raw,rollout")
	}
	if kind := v.show.Kind; err == nil && v.show.View().Study != "" {
		err = cli.Usagef("--view %s asks the model again, and a file has only what was recorded; "+
			"headwater explain --view %s takes a prompt and a model", kind, kind)
	}
	err = cmp.Or(err, v.checkShown(cmd, false))
	f.opts = v.opts
	return err
}

// showFile shows the rows of a file.
func showFile(ctx context.Context, k *cli.Kit, f showFlags) error {
	if len(f.opts.Methods) == 0 {
		f.opts.Methods, f.states = []string{"rollout"}, true
	}
	outs, err := createOutputs(ctx, k, f.view.outputFlags)
	if err != nil {
		return err
	}
	defer outs.abandon()
	err = withTensors(f.attributeFlags,
		func(file *checkpoint.File, in attribution.Input) error {
			text, err := textOf(file)
			if err != nil {
				return fmt.Errorf("%s: %w", f.input, err)
			}
			if err := text.fitsParts(file, f.states); err != nil {
				return fmt.Errorf("%s: %w", f.input, err)
			}
			if err := text.fits(in.Tensors, f.view.show); err != nil {
				return fmt.Errorf("%s: %w", f.input, err)
			}
			a, err := attributeFile(ctx, k, f.attributeFlags, file, in)
			if err != nil {
				return err
			}
			e, err := a.Explanation(text.tokens, text.generated, text.model)
			if err != nil {
				return fmt.Errorf("%s: %w", f.input, err)
			}
			if err := f.view.checkTokens(e); err != nil {
				return err
			}
			in.Sinks = a.Sinks
			from := recording{in, a.Methods}
			made := export.NewMade(e.Prompt.Text, f.opts, units.Grouping{}, "", cli.Release())
			made.Recorded = true
			err = writeExplanation(ctx, k, outs, &f.view, from, e, nil, made, false)
			if err != nil {
				return fmt.Errorf("%s: %w", f.input, err)
			}
			return nil
		})
	return outs.finish(f.view.outputFlags, err)
}

// showInseq shows the values of a file of Inseq.
func showInseq(ctx context.Context, k *cli.Kit, f showFlags) error {
	outs, err := createOutputs(ctx, k, f.view.outputFlags)
	if err != nil {
		return err
	}
	defer outs.abandon()
	e, err := readInseq(f.input)
	if err == nil {
		err = f.view.checkTokens(e)
	}
	if err == nil {
		made := export.NewMade(e.Prompt.Text, f.opts, units.Grouping{}, "", cli.Release())
		made.Recorded = true
		err = writeExplanation(ctx, k, outs, &f.view, nil, e, nil, made, false)
	}
	return outs.finish(f.view.outputFlags, err)
}

// readInseq reads a file of Inseq.
func readInseq(path string) (*attribution.Explanation, error) {
	file, err := atomicfile.ReadRegular(path, export.MaxFile)
	if err != nil {
		return nil, err
	}
	e, err := export.ReadInseq(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}

// similarityName is the name of what is shown of hidden states. It is no method: nothing is
// attributed.
const similarityName = "similarity"

// attributeFile computes methods on tensors of a file, and the similarity of its hidden states if
// no method was asked for.
func attributeFile(
	ctx context.Context, k *cli.Kit, f attributeFlags, file *checkpoint.File, in attribution.Input,
) (a *attribution.Attribution, err error) {
	if f.states && statesAlone(file) {
		a = &attribution.Attribution{
			Methods: map[string]*attribution.Map{}, Warnings: []string{},
		}
	} else if a, err = attributeInput(ctx, k, f, in); err != nil {
		return nil, err
	}
	if !f.states || !file.Has(string(trace.Hidden)) {
		return a, nil
	}
	hidden, err := tensorOf(file, string(trace.Hidden))
	if err != nil {
		return nil, err
	}
	in.Tensors = []attribution.TensorReader{hidden}
	if a.Methods[similarityName], err = attribution.Similarity(ctx, in); err != nil {
		return nil, fmt.Errorf("%s: %w", f.input, err)
	}
	a.Order = append(a.Order, similarityName)
	return a, nil
}

// recordedText is the text of a file: what its metadata says.
type recordedText struct {
	tokens    []string
	generated int
	model     trace.Info
}

// textOf reads the metadata of a file.
func textOf(file *checkpoint.File) (t recordedText, err error) {
	about := file.Metadata()
	if t.tokens, err = cli.TokensOf(file); err != nil {
		return t, err
	}
	if t.tokens == nil {
		return t, errors.New("its metadata has no tokens; " + cli.WantTokens)
	}
	if n, ok := about[cli.GeneratedKey]; ok {
		if t.generated, err = strconv.Atoi(n); err != nil || t.generated < 0 ||
			t.generated >= len(t.tokens) {
			return t, fmt.Errorf("generated in its metadata is %.60q; want how many of the last "+
				"tokens were generated, 0 to %d", n, len(t.tokens)-1)
		}
	}
	t.model = trace.Info{
		Name: cmp.Or(about[cli.ModelKey], "recorded by another program"),
		Hash: about["model_hash"], Family: about["family"],
	}
	return t, nil
}

// fitsParts returns an error if the queries that attention is computed from, or the hidden states
// if they are shown, have other tokens than the text.
func (t recordedText) fitsParts(file *checkpoint.File, states bool) error {
	for _, part := range []struct {
		name, axes string
		used       bool
	}{
		{attribution.Queries, "L,H,%d,E", !file.Has(string(trace.Attention))},
		{string(trace.Hidden), "L+1,%d,D", states},
	} {
		if !part.used || !file.Has(part.name) {
			continue
		}
		shape, err := file.Shape(part.name)
		if err != nil {
			return err
		}
		if n := len(shape); n < 2 || shape[n-2] != len(t.tokens) {
			return fmt.Errorf("tensor %q has shape %v; want ["+part.axes+"] for its %[3]d tokens, "+
				"without an axis of the batch", part.name, shape, len(t.tokens))
		}
	}
	return nil
}

// fits returns an error if a tensor has another shape than the text and the view need.
func (t recordedText) fits(tensors []attribution.TensorReader, show render.Show) error {
	T, record := len(t.tokens), show.View().Record
	for _, tensor := range tensors {
		n := len(tensor.Shape)
		want := fmt.Sprintf("want [L,H,%d,%d] or [L,%[1]d,%[1]d] for its %[1]d tokens: layers, "+
			"heads, targets, sources, without an axis of the batch", T, T)
		switch {
		case n != 3 && n != 4, tensor.Shape[n-1] != T, tensor.Shape[n-2] > T:
			return fmt.Errorf("tensor %q has shape %v; %s", tensor.Name, tensor.Shape, want)
		case tensor.Shape[n-2] < T:
			return fmt.Errorf("tensor %q has shape %v, rows of %d of the %d tokens; the rows of "+
				"all tokens are needed, those of the prompt too: %s", tensor.Name, tensor.Shape,
				tensor.Shape[n-2], T, want)
		case n == 3 && record != nil && record.Name == tensor.Name:
			return fmt.Errorf("tensor %q has shape %v, rows of all heads together; --view %s "+
				"needs [L,H,%d,%d]", tensor.Name, tensor.Shape, show.Kind, T, T)
		}
	}
	return nil
}

// recording is what a file has in the place of a model: the attention of one text, and the maps of
// the methods that were made of it.
type recording struct {
	in   attribution.Input
	maps map[string]*attribution.Map
}

// Trace returns the attention over the first tokens of the text, as many as there are ids, or over
// all of them if it has fewer, [L,H,n,n] or [L,n,n]. A file has no ids, so they are not read. The
// numbers have been checked; rows are divided by their sums, as methods do.
func (r recording) Trace(
	ctx context.Context, ids []int, _ []trace.Tap,
) ([]trace.Tensor, error) {
	at := slices.IndexFunc(r.in.Tensors, func(t attribution.TensorReader) bool {
		return t.Name == string(trace.Attention)
	})
	if at < 0 {
		return nil, errors.New("no attention was recorded")
	}
	from := r.in.Tensors[at]
	axes := len(from.Shape)
	L, H, T := from.Shape[0], 1, from.Shape[axes-1]
	if axes == 4 {
		H = from.Shape[1]
	}
	n := min(len(ids), T)
	if err := r.fits(L, H, T, n); err != nil {
		return nil, err
	}
	to, err := r.in.First(ctx, from, n)
	return []trace.Tensor{to}, err
}

// fits returns an error if the attention over n of T tokens is more than a picture is made of, or
// than there is memory for.
func (r recording) fits(layers, heads, T, n int) error {
	if err := render.CheckHeads(layers, heads, n); err != nil {
		return err
	}
	need := 4 * (int64(layers)*int64(heads)*int64(n)*int64(n) + int64(T)*int64(T)) // float32
	return r.in.Memory.Check(float64(need), fmt.Sprintf("the attention of %d tokens", n),
		"record a shorter text")
}
