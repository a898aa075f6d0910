package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/message"
)

// isTerminal reports whether someone watches what is written to w.
func isTerminal(w any) bool { return Columns(w) > 0 }

// Columns returns the width of the terminal w, 0 if w is not a terminal. One without a size has
// 80.
func Columns(w any) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, ok := terminalWidth(f)
	switch {
	case !ok:
		return 0
	case width == 0:
		return 80
	}
	return width
}

// Colored reports whether text for w has colours.
func Colored(choice string, w any) bool {
	switch choice {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Progress is a line on a terminal that is overwritten by the next one and removed in the end. It
// is safe for concurrent use.
type Progress struct {
	w     io.Writer
	width int // 0: nobody watches

	mu    sync.Mutex
	shown bool
}

// Progress returns a line, which is from now on the one that names the graph being compiled.
func (k *Kit) Progress() *Progress {
	k.line = &Progress{w: k.Stderr, width: Columns(k.Stderr)}
	return k.line
}

// Show replaces the line.
func (p *Progress) Show(format string, args ...any) {
	if p.width == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(fmt.Sprintf(format, args...))
}

// write replaces the line. The line is locked.
func (p *Progress) write(text string) {
	fmt.Fprintf(p.w, "\r%s\x1b[K", render.Visible(text, max(p.width-1, 10)))
	p.shown = true
}

// update replaces the line if it is shown.
func (p *Progress) update(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.write(text)
	}
}

// Clear removes the line.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.shown = false
}

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
