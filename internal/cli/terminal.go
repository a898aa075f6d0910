package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/headwater-ml/headwater/attribution/trace"
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

// Progress is a line on a terminal that is overwritten by the next one and removed in the end. What
// is no terminal, such as a log, has a line now and then. It is safe for concurrent use.
type Progress struct {
	w     io.Writer
	width int // 0: nobody watches

	mu    sync.Mutex
	shown bool
	// logged is when a log had its latest line, at first when the work began, and announced is
	// whether it has the number of passes.
	logged    time.Time
	announced bool
}

// logPeriod is how often a log has a line at most, and manyPasses is from how many passes through a
// model on it has one when they begin.
const (
	logPeriod  = 10 * time.Second
	manyPasses = 64
)

// Progress returns a line, which is from now on the one that names the graph being compiled.
func (k *Kit) Progress() *Progress {
	k.line = &Progress{w: k.Stderr, width: Columns(k.Stderr), logged: time.Now()}
	return k.line
}

// Report shows how far work is.
func (p *Progress) Report(at trace.Progress) {
	p.show(fmt.Sprint(at), at.Unit == "pass" && at.Done == 0 && at.Total >= manyPasses)
}

// Show replaces the line.
func (p *Progress) Show(format string, args ...any) { p.show(fmt.Sprintf(format, args...), false) }

// show replaces the line. A log has it if the latest one is old, or it announces the work.
func (p *Progress) show(text string, announces bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width > 0 {
		p.write(text)
		return
	}
	announces = announces && !p.announced
	if now := time.Now(); announces || now.Sub(p.logged) >= logPeriod {
		p.logged, p.announced = now, p.announced || announces
		fmt.Fprintf(p.w, "headwater: %s\n", render.Visible(text, MaxMessage))
	}
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
