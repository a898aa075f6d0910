package gonbext

import (
	"errors"
	"fmt"
	"html"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/errorkind"
)

// between is the least time between two pictures of something that grows, and liveBytes how large
// one may be: notebooks choke on many or large messages.
const (
	between   = 150 * time.Millisecond
	liveBytes = 120_000
	// plainBytes is how large a picture is for viewers that show only text.
	plainBytes = 20_000
	// plainColumns is how wide it is: what fits a line of a printed page and of the PDF that
	// nbconvert makes.
	plainColumns = 78
)

// display is one place in the output of a cell. Pictures of what grows are shown there and each
// replaces the one before; the last one is all that a saved notebook holds. Outside of a notebook
// only the last one is printed. After a final picture the display is a new place. It is safe for
// concurrent use.
type display struct {
	notebook bool
	// id names the display in the notebook, which is not saved. It is empty until something is
	// shown.
	id     string
	latest time.Time
	kind   string // of what was shown latest

	// mu is locked while the display changes, because clock also changes it.
	mu    sync.Mutex
	clock *time.Timer // nil if no stage has been shown that has no picture yet
	since time.Time   // when that stage began
	stage string      // its status
}

func newDisplay() *display { return &display{notebook: gonbui.IsNotebook} }

// live shows a picture of something that grows, unless the one before is of the same kind and too
// recent. picture is not called in vain. A status without a picture also says, once a second, how
// long it has been there.
func (d *display) live(kind string, picture func() render.Heatmap) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.notebook || kind == d.kind && time.Since(d.latest) < between {
		return
	}
	h := picture()
	d.draw(h)
	d.stop()
	if h.Explanation == nil {
		if kind != d.kind {
			d.since = time.Now()
		}
		d.stage = h.Status
		d.clock = time.AfterFunc(tick, d.count)
	}
	d.kind, d.latest = kind, time.Now()
}

// draw shows a picture of something that grows.
func (d *display) draw(h render.Heatmap) {
	h.MaxBytes = liveBytes
	d.send(map[protocol.MIMEType]any{protocol.MIMETextHTML: markupOf(h)})
}

// tick is how often the time of a stage is shown that brings no news.
const tick = time.Second

// count shows how long the stage has been there.
func (d *display) count() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.clock == nil { // stopped meanwhile
		return
	}
	d.draw(render.Heatmap{
		Status: fmt.Sprintf("%s, %.0f s so far", d.stage, time.Since(d.since).Seconds()),
	})
	d.clock.Reset(tick)
}

// stop stops the clock.
func (d *display) stop() {
	if d.clock != nil {
		d.clock.Stop()
	}
	d.clock = nil
}

// show shows a picture that stays: as HTML and, for viewers that show none, as plain text; outside
// of a notebook in its form for a terminal.
func (d *display) show(v render.Picture) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop()
	if !d.notebook {
		fmt.Print(textOf(v, render.Terminal{Width: columns(), Color: colors()}))
		return
	}
	d.send(map[protocol.MIMEType]any{
		protocol.MIMETextHTML: markupOf(v),
		protocol.MIMETextPlain: textOf(v, render.Terminal{
			Width: plainColumns, MaxBytes: plainBytes,
		}),
	})
	d.id = ""
	gonbui.Sync()
	if beforeMain() {
		sayAgain()
	}
}

// markupOf returns the HTML of a picture. A builder takes everything.
func markupOf(v render.Picture) string {
	var b strings.Builder
	_ = render.HTML(&b, v)
	return b.String()
}

// textOf returns the text of a picture.
func textOf(v render.Picture, look render.Terminal) string {
	var b strings.Builder
	_ = render.Text(&b, v, look)
	return b.String()
}

// clear empties the display if it shows anything.
func (d *display) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop()
	if d.id != "" {
		d.send(map[protocol.MIMEType]any{protocol.MIMETextHTML: ""})
		gonbui.Sync()
	}
}

// exit shows an error and ends the program.
func (d *display) exit(err error) {
	d.fail(err)
	os.Exit(d.status(err))
}

// status returns the exit status of a program that ends with an error, which the display shows. It
// is 1 for the shell. In a notebook it depends on who reads: for any other status than 0, GoNB adds
// "exit status 1" twice below the line that says what is wrong. So the status is 0
//
//   - in a server of notebooks, which sets JPY_SESSION_NAME: the reader sees the line, and GoNB
//     runs the cells that follow whatever the status is;
//   - elsewhere, such as in nbconvert, if the cell asks for something unknown or impossible, which
//     only the author of the cell can change. Other errors are those of the machine, and nbconvert
//     stops at them.
//
// Where CI is set nobody reads, and the status is always 1.
func (d *display) status(err error) int {
	asked := errors.Is(err, trace.ErrUsage) || errorkind.Of(err) == errorkind.Model
	watched := os.Getenv("JPY_SESSION_NAME") != ""
	if d.notebook && (watched || asked) && os.Getenv("CI") == "" {
		return 0
	}
	return 1
}

// fail shows an error: its first line, and what follows, such as the end of a log, below.
func (d *display) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop()
	err = worded(err)
	if errors.As(err, new(interruption)) && strings.HasPrefix(d.kind, trace.Compiling) {
		// XLA cannot be stopped, and the cell does not wait for it.
		err = fmt.Errorf("%w; the engine finishes what XLA has begun to compile, for later cells",
			err)
	}
	if !d.notebook {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	line, rest, more := strings.Cut(err.Error(), "\n")
	const box = "background-color:rgb(255,235,230);color:rgb(110,20,10);" +
		"padding:8px 12px;border-radius:6px"
	markup := fmt.Sprintf(`<div style="%s">%s</div>`, box,
		html.EscapeString(render.Visible(line, 2000)))
	if more {
		markup += `<pre>` + html.EscapeString(printable(rest)) + `</pre>`
	}
	d.send(map[protocol.MIMEType]any{
		protocol.MIMETextHTML: words(markup), protocol.MIMETextPlain: line,
	})
	gonbui.Sync()
}

// words returns markup in an element in which dollars are dollars.
func words(markup string) string {
	return `<div class="` + render.NoMathematics + `">` + markup + `</div>`
}

// printable makes each line of a text visible.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = render.Visible(line, 500)
	}
	return strings.Join(lines, "\n")
}

// send puts data in the place of the display.
func (d *display) send(data map[protocol.MIMEType]any) {
	if d.id == "" {
		d.id = gonbui.UniqueId()
	}
	gonbui.SendData(&protocol.DisplayData{Data: data, DisplayID: d.id})
}

// colors reports whether standard output is a terminal that wants colours.
func colors() bool {
	info, err := os.Stdout.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" &&
		os.Getenv("TERM") != "dumb"
}

// columns returns the width of the terminal, as far as the environment says it; 0 if not.
func columns() int {
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}
