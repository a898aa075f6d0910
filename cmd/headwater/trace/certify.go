package trace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/certificate"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/golden"
	"github.com/headwater-ml/headwater/models"
)

// certifyFlags are the flags of headwater certify.
type certifyFlags struct {
	cli.ModelFlags
	golden, text, record, output string
	opts                         attribution.Options // of which this needs those of textFlags
	ids                          [][]int
	steps                        int
	json                         bool
}

// maxRecorded is how many tokens a recording generates at most.
const maxRecorded = 4096

func certifyCommand(k *cli.Kit) *cobra.Command {
	f := certifyFlags{}
	cmd := &cobra.Command{
		Use: "certify [--golden FILE] [--record FILE]",
		Short: "check the numbers of a model against a recording, its cache, another " +
			"backend and brute force",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			ctx := cmd.Context()
			if f.record != "" {
				return record(ctx, k, f)
			}
			return certify(ctx, k, f)
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&f.golden, "golden", "", "compare with this `FILE`, recorded by "+
		"another implementation or by --record")
	cmd.Flags().StringVar(&f.text, "text", "", "check on this `text` where no golden is given "+
		"(default a sentence)")
	cmd.Flags().Func("ids", "check on these token `ids`, joined by commas; repeat it for a "+
		"recording of several texts of one length", func(s string) error {
		ids, err := parseIDs(s)
		f.ids = append(f.ids, ids)
		return err
	})
	textFlags(cmd, &f.opts)
	cmd.Flags().StringVar(&f.record, "record", "", "write what the model computes to this `FILE`")
	f.steps = 6
	cli.WholeFlag(cmd.Flags(), &f.steps, "max-tokens", 0, maxRecorded,
		"record `N` tokens that a decoder adds", "6")
	cli.JSONFlag(cmd, &f.json)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", cli.OutputFlag)
	return cmd
}

// check returns a usage error for flags that do not go together.
func (f certifyFlags) check(cmd *cobra.Command) error {
	text, ids := cmd.Flags().Changed("text"), f.ids != nil
	switch {
	case text && ids:
		return cli.Usagef("certify takes one of --text and --ids")
	case checkTextFlags(cmd) != nil:
		return checkTextFlags(cmd)
	case f.record == "" && len(f.ids) > 1:
		return cli.Usagef("--ids is there %d times; a check takes one text, a --record several",
			len(f.ids))
	case f.record == "" && cli.Given(cmd, "max-tokens"):
		return cli.Usagef("--max-tokens is for a --record")
	case f.record == "":
		return nil
	case f.golden != "" || f.json:
		return cli.Usagef("--record writes a recording; --golden and --json check one")
	case f.output != "":
		return cli.Usagef("--record names the file; --output is for the table of a check")
	case !text && !ids:
		return cli.Usagef("--record needs a text: --text or --ids")
	}
	for _, other := range f.ids {
		if len(other) != len(f.ids[0]) {
			return cli.Usagef("--ids of %d and of %d tokens; a recording is made "+
				"of texts of one length", len(f.ids[0]), len(other))
		}
	}
	return nil
}

// certifyLayerBytes is what a certificate's compiled graphs take for each layer, beyond what the
// model counts for the graphs of any other command: a certificate compiles more of them. With the
// 12 layers of GPT-2 small on XLA and the pure-Go backend, the peak was 1.55 GB, where the models
// count 1.38 GB.
const certifyLayerBytes = 16 << 20

// errWrong ends the program with status 1 after a certificate that says why.
var errWrong = errors.New("the certificate shows a check that failed")

// certify makes the certificate and writes it.
func certify(ctx context.Context, k *cli.Kit, f certifyFlags) error {
	out, err := k.Create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.Abandon()
	opts := certificate.Options{}
	if f.golden != "" {
		if opts.Golden, err = openGolden(f.golden); err != nil {
			return err
		}
		defer opts.Golden.Close()
	}
	m, err := k.Open(ctx, f.ModelFlags)
	if err != nil {
		return err
	}
	texts, err := f.texts(m)
	if err != nil {
		return err
	}
	if texts != nil {
		opts.IDs = texts[0]
	}
	if opts.Other, err = openOther(ctx, k, f.ModelFlags, m.Info()); err != nil {
		return err
	}
	line := k.Progress()
	defer line.Clear()
	line.Show("checking")
	c, err := certificate.Run(ctx, m, opts)
	if err != nil {
		return err
	}
	line.Clear()
	adviseChecks(c)
	if f.json {
		err = cli.WriteJSON(out, c)
	} else {
		_, err = c.WriteTo(out)
	}
	if err == nil {
		err = out.Commit()
	}
	if err == nil && !c.OK {
		err = errWrong
	}
	return err
}

// openGolden opens a recording.
func openGolden(path string) (*golden.Golden, error) {
	if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
		return nil, fmt.Errorf("the golden %s: no such file; --golden names a recording, such as "+
			"one that --record writes", path)
	}
	return golden.Open(path)
}

// openOther opens the model on the other one of go and xla, and returns what announces and returns
// it; nil if that backend is not there. It is opened before the work begins, so that two models
// that do not fit are refused then.
func openOther(
	ctx context.Context, k *cli.Kit, flags cli.ModelFlags, info trace.Info,
) (func() (*models.Model, error), error) {
	flags.Backend = "go"
	if info.Backend == "go" {
		flags.Backend = "xla"
	} else {
		k.Reserve(int64(info.Layers) * certifyLayerBytes)
	}
	if _, missing := backends.PluginPath(flags.Backend); missing != nil {
		return nil, nil
	}
	second, err := k.OpenSilently(ctx, flags)
	if err != nil {
		return nil, err
	}
	return func() (*models.Model, error) {
		k.Say("%s", cli.DescribeBackend(second.Info().Backend, flags.Backend))
		return second, nil
	}, nil
}

// record writes what a model computes.
func record(ctx context.Context, k *cli.Kit, f certifyFlags) error {
	out, err := k.Create(ctx, f.record)
	if err != nil {
		return err
	}
	defer out.Abandon()
	m, err := k.Open(ctx, f.ModelFlags)
	if err != nil {
		return err
	}
	texts, err := f.texts(m)
	if err != nil {
		return err
	}
	if info := m.Info(); info.Head == trace.NextToken && f.steps > info.Room(texts[0]) {
		return cli.Usagef("%d tokens and --max-tokens %d are more than the context of "+
			"%d of %s; take fewer", len(texts[0]), f.steps, info.Context, info.Name)
	}
	tensors, err := certificate.Record(ctx, m, texts, f.steps)
	if err != nil {
		return err
	}
	if err := checkpoint.Write(out, tensors, metadata(m.Info())); err != nil {
		return err
	}
	return out.Commit()
}

// texts returns the ids that the user gave, or nil.
func (f certifyFlags) texts(m *models.Model) ([][]int, error) {
	texts := f.ids
	if f.text != "" {
		tokens, err := encode(m, f.text, f.opts)
		if err != nil {
			return nil, err
		}
		texts = [][]int{trace.IDs(tokens)}
	}
	for _, ids := range texts {
		if err := checkIDs(m.Info(), ids); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// adviseChecks adds to a check that was left out for want of a golden the flag that gives one.
func adviseChecks(c *certificate.Certificate) {
	for i, check := range c.Checks {
		if check.Skipped == certificate.NoGolden {
			c.Checks[i].Skipped += " (--golden FILE)"
		}
	}
}
