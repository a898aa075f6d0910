package corpus

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/corpus/report"
)

func corpusReportCommand(k *cli.Kit) *cobra.Command {
	var to string
	o := report.Options{Top: report.DefaultTop}
	cmd := &cobra.Command{
		Use:   "report [flags] -o FILE CORPUS",
		Short: "write an HTML page of a corpus: charts, and texts in which most comes from a word",
		Args:  placeArguments("CORPUS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.NeedFlags(cmd, "output"); err != nil {
				return err
			}
			if err := o.Check(); err != nil {
				return cli.Usagef("--word: %v", err)
			}
			ctx := cmd.Context()
			out, err := k.Create(ctx, to)
			if err != nil {
				return err
			}
			defer out.Abandon()
			err = withCorpus(ctx, args[0], func(c *corpus.Corpus) error {
				return reportCorpus(ctx, k, c, o, out)
			})
			if err != nil {
				return err
			}
			return out.Commit()
		},
	}
	cmd.Flags().StringVar(&o.Method, "method", "", "sort and colour the texts by the method "+
		"`NAME` (default the first of the corpus)")
	cmd.Flags().Func("word", "sort the texts by how much comes from the word or span `TEXT`; "+
		"repeatable, for several words together (default the strongest token)",
		func(s string) error {
			o.Words = append(o.Words, s)
			return nil
		})
	cli.WholeFlag(cmd.Flags(), &o.Top, "top", 1, report.MaxTop, "list `N` texts", "50")
	cmd.Flags().StringVarP(&to, "output", "o", "", cli.OutputFlag)
	return cmd
}

// reportCorpus writes the page and names the parts that are not on it.
func reportCorpus(
	ctx context.Context, k *cli.Kit, c *corpus.Corpus, o report.Options, out *cli.Output,
) error {
	line := k.Progress()
	defer line.Clear()
	o.OnRecord = func(done int64) {
		if done%100 == 0 {
			line.Show("record %d of %d", done, c.Manifest.Input.Records)
		}
	}
	found, err := report.Write(ctx, out, c, o)
	var unknown *report.MethodError
	if errors.As(err, &unknown) {
		return cli.Usagef("--method: %v", err)
	}
	if err != nil {
		return err
	}
	line.Clear()
	if found.Incomplete > 0 {
		k.Say("note: %d of %d shards are missing or damaged; the page has %d of %d records; "+
			"headwater corpus run makes the others", found.Incomplete, found.Shards, found.Records,
			c.Manifest.Input.Records)
	}
	for _, w := range found.NeverSeen {
		k.Say("note: the word %q is in no text with scores; a word is found whole and in the same "+
			"case", w)
	}
	return nil
}
