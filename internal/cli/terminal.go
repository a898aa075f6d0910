package cli

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/headwater-ml/headwater/gonbext/render"
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

// Progress returns a line, which is from now on the one that says which graph is being compiled.
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
