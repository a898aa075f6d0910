package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/message"
)

// barPeriod is how often a bar is drawn at most.
const barPeriod = 100 * time.Millisecond

// downloadBar shows downloads: a bar for each file where someone watches, otherwise a line for
// each.
type downloadBar struct {
	k     *program
	width int // 0: nobody watches
	at    hub.Progress
	bar   *progressbar.ProgressBar
}

func (k *program) downloadBar() *downloadBar { return &downloadBar{k: k, width: columns(k.stderr)} }

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
			b.k.say("downloading %s, %s", what, message.FormatBytes(at.Size))
		}
		return
	}
	b.bar = progressbar.NewOptions64(max(at.Size, 1),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWriter(b.k.stderr), progressbar.OptionShowBytes(true),
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
