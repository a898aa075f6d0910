package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/ollama"
	"github.com/headwater-ml/headwater/models"
)

func (p *program) downloadCommand() *cobra.Command {
	var update bool
	cmd := &cobra.Command{
		Use:     "download MODEL...",
		Short:   "download models, and print where they are",
		Long:    downloadHelp(),
		Example: downloadExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s needs the name of a model: %s, or ORG/NAME of the Hub; see %s "+
					"--help", cmd.Name(), message.List(hub.Known()), cmd.CommandPath())
			}
			return checkDownloads(args)
		},
		RunE: func(cmd *cobra.Command, refs []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			for _, ref := range refs {
				path, err := p.download(ctx, ref, update)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(p.stdout, path); err != nil {
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
			return usagef("%.100s is downloaded by Ollama: ollama pull %.100s", ref,
				strings.TrimPrefix(ref, ollama.Prefix))
		case slices.Contains(models.Builtin(), ref):
			return usagef("%s is part of this program and need not be downloaded", ref)
		}
	}
	return nil
}

// download downloads one model and returns where it is.
func (p *program) download(ctx context.Context, ref string, update bool) (string, error) {
	bar := p.downloadBar()
	defer bar.done()
	opts, err := hub.FromEnvironment()
	if err != nil {
		return "", err
	}
	opts.Update, opts.Check, opts.Progress = update, true, bar.show
	path, err := hub.Resolve(ctx, ref, opts)
	near := message.DidYouMean(ref, hub.Known())
	if err != nil && near != "" && !slices.Contains(hub.Known(), ref) {
		return "", fmt.Errorf("%w; %s", err, strings.TrimSpace(near))
	}
	return path, err
}

// barPeriod is how often a bar is drawn at most.
const barPeriod = 100 * time.Millisecond

// downloadBar shows downloads: a bar for each file where someone watches, otherwise a line for
// each.
type downloadBar struct {
	p     *program
	width int // 0: nobody watches
	at    hub.Progress
	bar   *progressbar.ProgressBar
}

func (p *program) downloadBar() *downloadBar { return &downloadBar{p: p, width: columns(p.stderr)} }

// show is for hub.Options.Progress.
func (b *downloadBar) show(at hub.Progress) {
	if at.File != b.at.File || at.Checking != b.at.Checking {
		b.begin(at)
	}
	if b.bar != nil {
		_ = b.bar.Set64(at.Done) // a bar that cannot be drawn is no reason to stop
	}
}

func (b *downloadBar) begin(at hub.Progress) {
	b.done()
	b.at = at
	what := fmt.Sprintf("%s (%d of %d)", render.Visible(at.File, 40), at.Number, at.Count)
	if at.Checking {
		what = "checking " + render.Visible(at.File, 40)
	}
	if b.width == 0 {
		if !at.Checking {
			b.p.say("downloading %s, %s", what, message.FormatBytes(at.Size))
		}
		return
	}
	b.bar = progressbar.NewOptions64(max(at.Size, 1),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWriter(b.p.stderr), progressbar.OptionShowBytes(true),
		progressbar.OptionShowTotalBytes(true),
		progressbar.OptionSetWidth(max(10, min(40, b.width-75))),
		progressbar.OptionThrottle(barPeriod),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
}

// done removes the bar.
func (b *downloadBar) done() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
	b.bar, b.at = nil, hub.Progress{}
}
