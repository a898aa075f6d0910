package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/models/hub"
)

func (p *program) downloadCommand() *cobra.Command {
	var update bool
	cmd := &cobra.Command{
		Use:   "download MODEL...",
		Short: "bring models of the Hugging Face Hub into the cache, and print where they are",
		Long: `Brings what headwater reads of a model (settings, tokenizer, chat templates, safetensors) into the cache that the Python tools use,
and prints its directory. What is there already is compared with its hashes, and fetched again where it is broken; nothing is asked of
the Hub if it is complete. What was interrupted goes on where it stopped.

HF_HOME, HF_HUB_CACHE, HF_TOKEN, HF_TOKEN_PATH, HF_ENDPOINT and HF_HUB_OFFLINE are honoured. A server that sends fewer than
HEADWATER_MIN_SPEED bytes a second (1024 if it is not set, 0 for no limit) is given up; what came is kept.`,
		Example: `  headwater download openai-community/gpt2
  headwater download EleutherAI/pythia-70m@step1000`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s needs the name of a model, ORG/NAME; see %s --help", cmd.Name(),
					cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, refs []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			for _, ref := range refs {
				opts, err := hub.FromEnvironment()
				if err != nil {
					return err
				}
				opts.Update, opts.Check = update, true
				bar := p.downloadBar()
				opts.Progress = bar.show
				dir, err := hub.Resolve(ctx, ref, opts)
				bar.done()
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(p.stdout, dir); err != nil {
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
			b.p.say("downloading %s, %.1f MB", what, float64(at.Size)/1e6)
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
