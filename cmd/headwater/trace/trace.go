// Package trace has the commands that show what a model computes, without a method: its tokens, its
// tensors, the terms of its attention, and the certificate that they are right.
package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models"
)

// traceFlags are the flags of headwater trace.
type traceFlags struct {
	cli.ModelFlags
	text   string
	opts   attribution.Options // of which those of textFlags count
	ids    []int
	taps   []trace.Tap
	edits  string // the name of a file
	output string
}

// Commands are the commands that show what a model computes: tokens, tensors, terms.
var Commands = cli.Family{
	traceCommand, focusCommand, tokenizeCommand, certifyCommand,
}

func traceCommand(k *cli.Kit) *cobra.Command {
	f := traceFlags{}
	cmd := &cobra.Command{
		Use:   "trace (--text TEXT | --ids IDS) --taps TAPS -o FILE",
		Short: "run a model once and write its raw tensors as safetensors",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.NeedFlags(cmd, "taps", "output"); err != nil {
				return err
			}
			if cmd.Flags().Changed("text") == cmd.Flags().Changed("ids") {
				return cli.Usagef("trace needs one of --text and --ids")
			}
			if err := checkTextFlags(cmd); err != nil {
				return err
			}
			return writeTrace(cmd.Context(), k, f)
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&f.text, "text", "", "run this `text`")
	cmd.Flags().Func("ids", "run these token `ids`, joined by commas", func(s string) (err error) {
		f.ids, err = parseIDs(s)
		return err
	})
	textFlags(cmd, &f.opts)
	cmd.Flags().Func("taps", "`names` of tensors, joined by commas: "+tapNames(),
		func(s string) error {
			for name := range strings.SplitSeq(s, ",") {
				tap := trace.Tap(strings.TrimSpace(name))
				if !slices.Contains(trace.Taps(), tap) {
					return fmt.Errorf("unknown tap %.60q; %s", tap,
						message.KnownAre(tap, trace.Taps()))
				}
				f.addTap(tap)
			}
			return nil
		})
	cli.EditFlag(cmd, &f.edits)
	cmd.Flags().BoolVar(&f.AllowNaN, "allow-nan", false, "run a model whose weights or results "+
		"are NaN or infinite, and say where they are")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", cli.OutputFlag)
	return cmd
}

// addTap adds a tap once. Hidden states come with what the final norm makes of the last one.
func (f *traceFlags) addTap(tap trace.Tap) {
	if !slices.Contains(f.taps, tap) {
		f.taps = append(f.taps, tap)
	}
	if tap == trace.Hidden {
		f.addTap(trace.Final)
	}
}

func tapNames() string { return strings.Join(message.Names(trace.Taps()), ", ") }

// parseIDs reads numbers joined by commas. Whether a model knows them is its business.
func parseIDs(s string) ([]int, error) {
	var ids []int
	for word := range strings.SplitSeq(s, ",") {
		id, ok := message.WholeNumber(strings.TrimSpace(word))
		if !ok || id < 0 || id > math.MaxInt32 {
			return nil, fmt.Errorf("%.60q is not a token id, a whole number from 0 to %d", word,
				math.MaxInt32)
		}
		ids = append(ids, int(id))
	}
	return ids, nil
}

// writeTrace runs a model and writes what was recorded.
func writeTrace(ctx context.Context, k *cli.Kit, f traceFlags) error {
	out, err := k.Create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.Abandon()
	file, err := k.ReadEdits(ctx, f.edits)
	if err != nil {
		return err
	}
	m, err := k.Open(ctx, f.ModelFlags)
	if err != nil {
		return adviseNaN(err)
	}
	edits, err := file.Edits(m.Info(), m.Memory())
	if err != nil {
		return err
	}
	ids, err := f.tokens(m)
	if err == nil {
		err = f.fits(m.Info(), ids)
	}
	if err != nil {
		return err
	}
	if wrong := m.Info().CheckEdits(edits, ids); wrong != nil {
		return file.Named(wrong)
	}
	line := k.Progress()
	defer line.Clear()
	line.Show("running %d tokens", len(ids))
	tensors, err := m.Run(ctx, ids, f.taps, edits)
	if err != nil {
		return adviseNaN(file.Named(err))
	}
	line.Clear()
	sayNonFinite(k, m, tensors)
	about := metadata(m.Info())
	if err := addText(k, about, m, ids); err != nil {
		return err
	}
	if n := smallestWindow(m, len(ids)); n > 0 {
		about[windowKey] = strconv.Itoa(n)
	}
	if m.Info().Sinks {
		about[cli.SinksKey] = "true"
	}
	out.What = message.Count(len(tensors), "tensor") + " of " + message.Count(len(ids), "token")
	if err := checkpoint.Write(out, f.file(ids, tensors), about); err != nil {
		return err
	}
	return out.Commit()
}

// sayNonFinite tells the user which weights and results are NaN or infinite, the first few.
func sayNonFinite(k *cli.Kit, m *models.Model, tensors []trace.Tensor) {
	const most = 5
	for i, e := range m.NonFinite() {
		if i == most {
			k.Say("note: %d more tensors have weights that are not finite", len(m.NonFinite())-most)
			break
		}
		k.Say("note: %s", cli.ErrorText(e))
	}
	if e := models.FirstNonFinite(tensors); e != nil {
		e.Model = m.Info().Name
		k.Say("note: %s", cli.ErrorText(e))
	}
}

// fits returns a usage error for what a model cannot be asked for.
func (f traceFlags) fits(info trace.Info, ids []int) error {
	if info.Head == trace.NoHead && slices.Contains(f.taps, trace.Logits) {
		return cli.Usagef("--taps logits: %s has no head that makes them; take final, "+
			"what a head would read", info.Name)
	}
	return checkIDs(info, ids)
}

// checkIDs returns a usage error for tokens that a model cannot take.
func checkIDs(info trace.Info, ids []int) error {
	if at := info.Boundary(); at >= 0 && slices.Index(ids, at) < 1 {
		return cli.Usagef("--ids: %s reads a source and then the target, which begins with "+
			"id %d; give ids such as 5,6,7,%d", info.Name, at, at)
	}
	if left := info.Room(ids); left < 0 {
		return cli.Usagef("%d tokens are more than the context of %d of %s; take a shorter text",
			info.Context-left, info.Context, info.Name)
	}
	for i, id := range ids {
		if id >= info.IDs() && id != info.Boundary() {
			return cli.Usagef("id %d of token %d is outside the vocabulary of %d of %s; "+
				"ids are from 0 to %d", id, i, info.IDs(), info.Name, info.IDs()-1)
		}
	}
	return nil
}

// tokens returns the ids to run.
func (f traceFlags) tokens(m *models.Model) ([]int, error) {
	if f.ids != nil {
		return f.ids, nil
	}
	tokens, err := encode(m, f.text, f.opts)
	return trace.IDs(tokens), err
}

// textFlags adds the flags of the options that say how a text is read.
func textFlags(cmd *cobra.Command, opts *attribution.Options) {
	for _, name := range []string{"specials", "source language", "target language"} {
		cli.OptionFlag(cmd.Flags(), opts, name)
	}
}

// checkTextFlags returns a usage error for a flag of textFlags without --text.
func checkTextFlags(cmd *cobra.Command) error {
	for _, flag := range []string{"special", "from", "to"} {
		if !cmd.Flags().Changed("text") && cli.Given(cmd, flag) {
			return cli.Usagef("--%s goes with --text; of --ids nothing is changed", flag)
		}
	}
	return nil
}

// encode returns the tokens of a text, of which those of textFlags count.
func encode(m trace.Model, text string, opts attribution.Options) ([]trace.Token, error) {
	m, err := trace.Between(m, opts.From, opts.To)
	if err != nil {
		return nil, err
	}
	return m.Encode(text, opts.Specials)
}

// file returns the tensors of a file: those recorded and ids [T].
func (f traceFlags) file(ids []int, tensors []trace.Tensor) []checkpoint.Tensor {
	ids32 := make([]int32, len(ids))
	for i, id := range ids {
		ids32[i] = int32(id) //nolint:gosec // below the size of the vocabulary
	}
	all := []checkpoint.Tensor{{Name: "ids", Shape: []int{len(ids)}, Data: ids32}}
	for _, t := range tensors {
		all = append(all, checkpoint.Tensor{Name: t.Name, Shape: t.Shape, Data: t.Data})
	}
	return all
}

// metadata describes the model, for the file with its tensors.
func metadata(info trace.Info) map[string]string {
	return map[string]string{
		"version":    strconv.Itoa(attribution.Version),
		"model_hash": info.Hash,
		"family":     info.Family,
	}
}

// maxTexts is the largest number of bytes of the texts of tokens in a file. JSON writes up to 7
// bytes for one of them, and a header has at most 100,000,000. A text of a million tokens has half
// as many.
const maxTexts = 8 << 20

// addText adds what headwater show reads to the metadata of a file: the texts of its tokens, that
// none of them was generated, and the name of the model. JSON has no bytes that are not UTF-8; each
// becomes U+FFFD, as in the explanations that headwater explain writes.
func addText(k *cli.Kit, about map[string]string, m *models.Model, ids []int) error {
	about[cli.ModelKey] = strings.ToValidUTF8(m.Info().Name, "\uFFFD")
	texts, size := make([]string, len(ids)), 0
	for i, id := range ids {
		texts[i] = m.TokenText(id)
		if size += len(texts[i]); size > maxTexts {
			k.Say("note: the texts of the tokens have more than %s and are left out of the file; "+
				"headwater show needs them", message.FormatBytes(maxTexts))
			return nil
		}
	}
	list, err := json.Marshal(texts)
	if err != nil {
		return err
	}
	about[cli.TokensKey], about[cli.GeneratedKey] = string(list), "0"
	return nil
}

// windowKey is the key of the metadata that says that some layers see only the last tokens: how
// many, where they see fewest. It is there only if the text has more.
const windowKey = "window"

// smallestWindow returns how many of T tokens the layers see that see the fewest; 0 if all layers
// see all of them.
func smallestWindow(m *models.Model, T int) (smallest int) {
	for l := range m.Info().Layers {
		if n := m.Spec().Window(l); n > 0 && n < T && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	return smallest
}

// adviseNaN adds the flag that lets a model run whose numbers are NaN or infinite. Only headwater
// trace has it.
func adviseNaN(err error) error {
	weight, result := (*models.WeightError)(nil), (*models.ResultError)(nil)
	if errors.As(err, &weight) || errors.As(err, &result) {
		return fmt.Errorf("%w (--allow-nan writes the tensors all the same)", err)
	}
	return err
}
