package cli

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/message"
)

// BarPeriod is how often a bar is drawn at most.
const BarPeriod = 100 * time.Millisecond

// DownloadBar shows downloads: a bar for each file where someone watches, otherwise a line for
// each.
type DownloadBar struct {
	k     *Kit
	width int // 0: nobody watches
	at    hub.Progress
	bar   *progressbar.ProgressBar
}

// DownloadBar returns a bar for hub.Options.Progress.
func (k *Kit) DownloadBar() *DownloadBar { return &DownloadBar{k: k, width: Columns(k.Stderr)} }

// Show is for hub.Options.Progress.
func (b *DownloadBar) Show(at hub.Progress) {
	if at.File != b.at.File || at.Checking != b.at.Checking {
		b.begin(at)
	}
	if b.bar != nil {
		_ = b.bar.Set64(at.Done) // a bar that cannot be drawn is no reason to stop
	}
}

func (b *DownloadBar) begin(at hub.Progress) {
	b.Done()
	b.at = at
	what := fmt.Sprintf("%s (%d of %d)", render.Visible(at.File, 40), at.Number, at.Count)
	if at.Checking {
		what = "checking " + render.Visible(at.File, 40)
	}
	if b.width == 0 {
		if !at.Checking {
			b.k.Say("downloading %s, %s", what, message.FormatBytes(at.Size))
		}
		return
	}
	b.bar = progressbar.NewOptions64(max(at.Size, 1),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWriter(b.k.Stderr), progressbar.OptionShowBytes(true),
		progressbar.OptionShowTotalBytes(true),
		progressbar.OptionSetWidth(max(10, min(40, b.width-75))),
		progressbar.OptionThrottle(BarPeriod),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
}

// Done removes the bar.
func (b *DownloadBar) Done() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
	b.bar, b.at = nil, hub.Progress{}
}
