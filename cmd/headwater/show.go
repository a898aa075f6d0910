package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/export"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/checkpoint"
)

// showFlags are the flags of headwater show.
type showFlags struct {
	attributeFlags
	view explainFlags // how it is shown and saved
}

func (p *program) showCommand() *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show [flags] FILE.safetensors",
		Short: "show attention that another program recorded",
		Long: "Show reads attention [L,H,T,T] or [L,T,T] of one text from a safetensors file and " +
			"shows it as explain does.\n" +
			"The metadata of the file has tokens, a JSON list of the T texts, and may have " +
			"generated, how many of the last tokens were generated\n" +
			"(0: the row of the last token is shown), and model, a name. " +
			"docs/bring-results-in.md has Python that writes such files.",
		Example: `  headwater show --methods raw,rollout attention.safetensors
  headwater show --methods rollout --save figure.pdf attention.safetensors`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := oneFile(cmd, args); err != nil {
				return err
			}
			f.input, f.view.opts = args[0], f.opts
			f.view.format = cmp.Or(f.view.format, formOf(f.output))
			return cmp.Or(
				oneOf("format", f.view.format, "text", "html", "json"),
				oneOf("color", f.view.color, "auto", "always", "never"),
				rowsOnly(f.opts.Methods),
				f.checkSave(cmd),
			)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return p.showFile(ctx, f)
		},
	}
	methodsFlag(cmd, &f.opts, " (default rollout)")
	optionFlags(cmd, &f.opts, attribution.MethodOptions)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", outputFlag)
	cmd.Flags().StringVar(&f.view.format, "format", "", "form of the result: `text|html|json` "+
		"(default: the ending of --output, else text)")
	cmd.Flags().StringVar(&f.view.color, "color", "auto", "colours in text: `auto|always|never`")
	wholeFlag(cmd.Flags(), &f.view.width, "width", 60, 10000, "`columns` of text",
		"those of the terminal, else 100")
	f.view.save.add(cmd)
	maxMemoryFlag(cmd, &f.maxMemory, "what is made of the tensors")
	return cmd
}

// checkSave refuses figures that need the model.
func (f *showFlags) checkSave(cmd *cobra.Command) error {
	for _, path := range f.view.save.paths {
		format, err := export.FormatOf(path)
		if err != nil {
			return err
		}
		if f.view.save.show.NeedsFlow(format) {
			return usagef("--save %s: a graph of flow is made by headwater explain, and limits of "+
				"a flow in a file by headwater attribute --cut", path)
		}
	}
	return f.view.save.check(cmd, f.opts, "", f.output)
}

// showFile shows the rows of a file.
func (p *program) showFile(ctx context.Context, f showFlags) error {
	if len(f.opts.Methods) == 0 {
		f.opts.Methods = []string{"rollout"}
	}
	files, err := p.createSaves(ctx, f.view.save)
	if err != nil {
		return err
	}
	defer files.abandon()
	var e *attribution.Explanation
	err = p.onTensors(ctx, f.attributeFlags,
		func(out *output, file *checkpoint.File, in attribution.Input) error {
			text, err := textOf(file)
			if err != nil {
				return fmt.Errorf("%s: %w", f.input, err)
			}
			if err := text.fits(in.Tensors); err != nil {
				return fmt.Errorf("%s: %w", f.input, err)
			}
			a, err := p.attributeInput(ctx, f.attributeFlags, in)
			if err != nil {
				return err
			}
			if e, err = a.Explanation(text.tokens, text.generated, text.model); err != nil {
				return fmt.Errorf("%s: %w", f.input, err)
			}
			f.view.output = f.output
			return p.show(out, f.view, e, nil)
		})
	if err != nil {
		return err
	}
	made := export.NewMade(e.Prompt.Text, f.opts, attribution.Grouping{}, "", release())
	return files.write(ctx, p, nil, e, made)
}

// The keys of the metadata that headwater show reads, of which tokens is required.
const (
	tokensKey    = "tokens"    // a JSON list of the texts of all tokens
	generatedKey = "generated" // how many of the last ones were generated
	modelKey     = "model"     // the name of the model
)

// recordedText is the text of a file: what its metadata says.
type recordedText struct {
	tokens    []string
	generated int
	model     trace.Info
}

// textOf reads the metadata of a file.
func textOf(file *checkpoint.File) (t recordedText, err error) {
	about := file.Metadata()
	if t.tokens, err = tokensOf(file); err != nil {
		return t, err
	}
	if t.tokens == nil {
		return t, errors.New("its metadata has no tokens; " + wantTokens)
	}
	if n, ok := about[generatedKey]; ok {
		if t.generated, err = strconv.Atoi(n); err != nil || t.generated < 0 ||
			t.generated >= len(t.tokens) {
			return t, fmt.Errorf("generated in its metadata is %.60q; want how many of the last "+
				"tokens were generated, 0 to %d", n, len(t.tokens)-1)
		}
	}
	t.model = trace.Info{
		Name: cmp.Or(about[modelKey], "recorded by another program"),
		Hash: about["model_hash"], Family: about["family"],
	}
	return t, nil
}

// wantTokens ends the message about the texts of tokens in the metadata of a file.
const wantTokens = `want a JSON list of the texts of all tokens, such as ["The"," key"]`

// tokensOf reads the texts of the tokens in the metadata of a file; nil if it has none.
func tokensOf(file *checkpoint.File) (tokens []string, err error) {
	text, ok := file.Metadata()[tokensKey]
	if !ok {
		return nil, nil
	}
	if err := message.WholeCharacters([]byte(text)); err != nil {
		return nil, fmt.Errorf("tokens in its metadata: %w", err)
	}
	if json.Unmarshal([]byte(text), &tokens) != nil || len(tokens) == 0 {
		return nil, fmt.Errorf("tokens in its metadata is %.60q; "+wantTokens, text)
	}
	return tokens, nil
}

// fits returns an error if a tensor has another shape than the text needs.
func (t recordedText) fits(tensors []attribution.TensorReader) error {
	for _, tensor := range tensors {
		n := len(tensor.Shape)
		want := fmt.Sprintf("want [L,H,%d,%d] or [L,%[1]d,%[1]d] for its %[1]d tokens: layers, "+
			"heads, targets, sources, without an axis of the batch", len(t.tokens), len(t.tokens))
		if n != 3 && n != 4 || slices.ContainsFunc(tensor.Shape[n-2:], func(size int) bool {
			return size != len(t.tokens)
		}) {
			return fmt.Errorf("tensor %q has shape %v; %s", tensor.Name, tensor.Shape, want)
		}
	}
	return nil
}
