package corpus

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/message"
)

func corpusVerifyCommand(k *cli.Kit) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [flags] CORPUS",
		Short: "compare every row of every shard with the manifest",
		Args:  placeArguments("CORPUS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return withCorpus(ctx, args[0], func(c *corpus.Corpus) error {
				return verifyCorpus(ctx, k, c, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

// maxProblems is how many shards with problems are printed as text.
const maxProblems = 20

// verifyCorpus prints what is found.
func verifyCorpus(ctx context.Context, k *cli.Kit, c *corpus.Corpus, asJSON bool) error {
	line := k.Progress()
	defer line.Clear()
	v, err := c.Verify(ctx, func(done int) {
		line.Show("shard %d of %d", done, len(c.Manifest.Shards))
	})
	if err != nil {
		return err
	}
	line.Clear()
	out, err := k.Create(ctx, "")
	if err != nil {
		return err
	}
	err = out.Result(asJSON, v, func(w io.Writer) error { return writeVerdict(w, c, v) })
	if err != nil {
		return err
	}
	if n := len(v.Problems); n > 0 {
		return fmt.Errorf("%d of %d shards are not as the manifest says; headwater corpus "+
			"missing %s prints the tasks of those that are missing or cut, and headwater corpus "+
			"run makes them; remove the files of others before", n, len(c.Manifest.Shards), c.Place)
	}
	return nil
}

// writeVerdict writes what was found, for people.
func writeVerdict(w io.Writer, c *corpus.Corpus, v *corpus.Verdict) error {
	for i, problem := range v.Problems {
		if i == maxProblems {
			fmt.Fprintf(w, "… and %d more\n", len(v.Problems)-i)
			break
		}
		fmt.Fprintln(w, problem)
	}
	if v.SHA256 == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s, %s, %d with an error\nsha256 of all shards %s\n",
		message.Count(v.Shards, "shard"), message.Count(v.Records, "record"), v.Errors, v.SHA256)
	return err
}

func corpusMergeCommand(k *cli.Kit) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "merge -o FILE CORPUS",
		Short: "write the rows of all shards as one Parquet file, in the order of the input",
		Args:  placeArguments("CORPUS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.NeedFlags(cmd, "output"); err != nil {
				return err
			}
			ctx := cmd.Context()
			return withCorpus(ctx, args[0], func(c *corpus.Corpus) error {
				return mergeCorpus(ctx, k, c, to)
			})
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", cli.OutputFlag)
	return cmd
}

// mergeCorpus writes the merged file.
func mergeCorpus(ctx context.Context, k *cli.Kit, c *corpus.Corpus, to string) error {
	out, err := k.Create(ctx, to)
	if err != nil {
		return err
	}
	defer out.Abandon()
	line := k.Progress()
	defer line.Clear()
	err = c.Merge(ctx, out, func(rows int64) {
		if rows%100 == 0 {
			line.Show("record %d of %d", rows, c.Manifest.Input.Records)
		}
	})
	if err != nil {
		return err
	}
	return out.Commit()
}
