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
)

func downloadCommand(k *cli.Kit) *cobra.Command {
	var update bool
	cmd := &cobra.Command{
		Use:     "download MODEL...",
		Short:   "download models, and print where they are",
		Long:    downloadHelp(),
		Example: downloadExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("%s needs the name of a model: %s, or ORG/NAME of the Hub; see "+
					"%s --help", cmd.Name(), message.List(hub.Known()), cmd.CommandPath())
			}
			return checkDownloads(args)
		},
		RunE: func(cmd *cobra.Command, refs []string) error {
			for _, ref := range refs {
				path, err := download(cmd.Context(), k, ref, update)
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
	cmd.Flags().BoolVar(&update, "update", false, "ask the Hub for a newer commit, even if "+
		"the model is complete")
	return cmd
}

const downloadExample = `  headwater download smollm2
  headwater download openai-community/gpt2
  headwater download EleutherAI/pythia-70m@step1000`

// downloadHelp returns the help of headwater download.
func downloadHelp() string {
	var b strings.Builder
	b.WriteString("Downloads a model of the Hugging Face Hub and prints where it is. Nothing is " +
		"downloaded if it is there and\ncomplete. All of its bytes are compared with their " +
		"hashes, and what is damaged is downloaded again.\n\nShort names:\n")
	for _, name := range hub.Known() {
		ref, _ := hub.ParseRef(name) // it is one
		fmt.Fprintf(&b, "  %s  %s\n", name, ref)
	}
	b.WriteString("If the folder " + hub.ModelsVariable + " has one GGUF file in a folder of " +
		"that name, the short name means this file,\nand nothing is downloaded.\n\n" +
		"What headwater reads of a model (settings, tokenizer, chat templates, safetensors) " +
		"comes into the cache that\nthe Python tools use. A download that was interrupted goes " +
		"on where it stopped. HF_HOME, HF_HUB_CACHE,\nHF_TOKEN, HF_TOKEN_PATH, HF_ENDPOINT and " +
		"HF_HUB_OFFLINE are honoured. A server that sends fewer than\nHEADWATER_MIN_SPEED bytes " +
		"a second (1024 if it is not set, 0 for no limit) is given up; what came is kept.")
	return b.String()
}

// checkDownloads returns a usage error for a model that is not of the Hub.
func checkDownloads(refs []string) error {
	for _, ref := range refs {
		switch {
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
func download(ctx context.Context, k *cli.Kit, ref string, update bool) (string, error) {
	bar := k.DownloadBar()
	defer bar.Done()
	opts, err := hub.FromEnvironment()
	if err != nil {
		return "", err
	}
	opts.Update, opts.Check, opts.Progress = update, true, bar.Show
	path, err := hub.Resolve(ctx, ref, opts)
	near := message.DidYouMean(ref, hub.Known())
	if err != nil && near != "" && !slices.Contains(hub.Known(), ref) {
		return "", fmt.Errorf("%w; %s", err, strings.TrimSpace(near))
	}
	return path, err
}
