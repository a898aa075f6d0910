// Package chromium opens documents in Chromium for tests and reports what is drawn. Starting it
// costs about two seconds of one core, a document a fraction of a second.
package chromium

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

//go:embed inspect.js
var inspect string

// limit is how long one request to Chromium may take, on a machine that does other things. It
// ends a test whose browser hangs.
const limit = 5 * time.Minute

// ErrMissing is the error of [Start] where Chromium is not installed.
var ErrMissing = errors.New("no Chromium here; on Debian: apt-get install chromium")

// Browser is one Chromium with one tab.
type Browser struct {
	ctx   context.Context
	close func()
	mu    sync.Mutex
	// requests are the addresses that the tab has asked for.
	requests []string
	// sockets are those of web sockets, and messages what the console shows.
	sockets  []string
	messages []Message
}

// Open starts Chromium for one test and ends it with the test. It skips the test where Chromium is
// not installed.
func Open(t *testing.T) *Browser {
	t.Helper()
	b, err := Start()
	Check(t, err)
	t.Cleanup(b.Close)
	return b
}

// Check ends the test if Chromium could not be started: it skips the test where Chromium is not
// installed.
func Check(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Start starts Chromium with a profile of its own. Close ends it.
func Start() (b *Browser, err error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return nil, ErrMissing
	}
	dir, err := os.MkdirTemp("", "chromium")
	if err != nil {
		return nil, err
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.WindowSize(1200, 900),
		chromedp.Env("TMPDIR=" + dir), // it leaves something there
		chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
	}
	for _, flag := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync",
		"disable-dev-shm-usage", "disable-extensions", "disable-breakpad",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	process, endProcess := chromedp.NewExecAllocator(context.Background(), options...)
	tab, closeTab := chromedp.NewContext(process)
	b = &Browser{ctx: tab, close: func() {
		closeTab()
		endProcess()
		_ = os.RemoveAll(dir)
	}}
	err = chromedp.Listen(tab, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.see(event)
	})
	if err == nil {
		// The context of the first call is that of the process, so it must not end before Close.
		_, err = chromedp.Call(tab, network.Enable, network.EnableParams{})
	}
	if err == nil {
		_, err = chromedp.Call(tab, log.Enable, cdp.Empty{})
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return b, nil
}

// see keeps what an event says. The caller holds mu.
func (b *Browser) see(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		// An image inside the document is an address, but no request.
		if !strings.HasPrefix(e.Request.URL, "data:") {
			b.requests = append(b.requests, e.Request.URL)
		}
	case *network.EventWebSocketCreated:
		b.sockets = append(b.sockets, e.URL)
	case *runtime.EventConsoleAPICalled:
		switch e.Type {
		case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeWarning,
			runtime.ConsoleAPICalledTypeAssert:
			var words []string
			for _, arg := range e.Args {
				words = append(words, said(arg))
			}
			b.messages = append(b.messages,
				Message{string(e.Type), strings.Join(words, " "), source(e.StackTrace, "")})
		}
	case *runtime.EventExceptionThrown:
		d := e.ExceptionDetails
		text := d.Text
		if d.Exception != nil {
			text += " " + d.Exception.Description
		}
		b.messages = append(b.messages, Message{"exception", text, source(d.StackTrace, d.URL)})
	case *log.EventEntryAdded:
		if l := e.Entry.Level; l == log.EntryLevelError || l == log.EntryLevelWarning {
			b.messages = append(b.messages,
				Message{string(l), e.Entry.Text, source(e.Entry.StackTrace, e.Entry.URL)})
		}
	}
}

// said is an argument of a call to the console.
func said(arg *runtime.RemoteObject) string {
	if text := strings.Trim(string(arg.Value), `"`); text != "" {
		return text
	}
	return arg.Description
}

// source is the address of the script that called, or else another address.
func source(stack *runtime.StackTrace, otherwise string) string {
	if stack != nil && len(stack.CallFrames) > 0 {
		return stack.CallFrames[0].URL
	}
	return otherwise
}

// Message is an error or a warning in the console of the tab. Source is the address of the script
// or of the document that it comes from.
type Message struct {
	Level, Text, Source string
}

// Messages returns the errors and warnings since the browser started.
func (b *Browser) Messages() []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.messages)
}

// Requests returns the addresses that the tab has asked for since it started or since the last
// [Browser.Show], those of web sockets included.
func (b *Browser) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Concat(b.requests, b.sockets)
}

// Close ends Chromium and removes what it wrote.
func (b *Browser) Close() { b.close() }

// Do gives do the context of the tab, for requests that this package has no function for.
func (b *Browser) Do(t *testing.T, do func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	if err := do(ctx); err != nil {
		t.Fatal(err)
	}
}

// Evaluate returns what an expression is in the tab.
func Evaluate[T any](
	t *testing.T, b *Browser, expression string, options ...chromedp.EvaluateOption,
) T {
	t.Helper()
	var v T
	b.Do(t, func(ctx context.Context) (err error) {
		v, err = chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
		return err
	})
	return v
}

// Navigate opens an address.
func (b *Browser) Navigate(t *testing.T, address string) {
	t.Helper()
	b.Do(t, func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Navigate(address)) })
}

// Resize gives the window of the tab a size.
func (b *Browser) Resize(t *testing.T, width, height int64) {
	t.Helper()
	b.Do(t, func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.EmulateViewport(width, height))
	})
}

// Clip is a rectangle of a page, in pixels.
type Clip = page.Viewport

// Screenshot returns what the window shows, as PNG: all of it, or the part that clip says, which
// may lie outside of the window.
func (b *Browser) Screenshot(t *testing.T, clip *Clip) (png []byte) {
	t.Helper()
	beyond, fast := clip != nil, true
	b.Do(t, func(ctx context.Context) (err error) {
		shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
			Clip: clip, CaptureBeyondViewport: &beyond, OptimizeForSpeed: &fast,
		})
		if err == nil {
			png = shot.Data
		}
		return err
	})
	return png
}

// Drawn is what inspect.js says about a document.
type Drawn struct {
	Elements map[string]int
	// Colored are the visible elements with a colour of their own, Texts the visible pieces of
	// text.
	Colored, Texts []Paint
	// Text is all text of the document, visible or not, without scripts and style sheets.
	Text, Hit string
	// Wide is by how many pixels the document is wider than the window.
	Wide int
}

// Paint is the colours of an element or of a piece of text, as a reader sees them.
type Paint struct {
	Text, Color, Background string
}

// Inspect returns what is drawn below an element of the tab, given as an expression.
func (b *Browser) Inspect(t *testing.T, root string) Drawn {
	t.Helper()
	return Evaluate[Drawn](t, b, "("+inspect+")("+root+")")
}

// Drawing is the promise that pictures, which draw when their numbers are unpacked, are drawn, and
// two frames: the second one comes after everything that the first one asked for.
const Drawing = `(async () => {
	const frame = () => new Promise((done) => requestAnimationFrame(done));
	await Promise.all([...document.querySelectorAll('.hm')].map((e) => e.hwStarted));
	await frame();
	await frame();
	return true;
})()`

// Show opens a document as a file and returns what is drawn. The test fails if the document asks
// for any other address, also if it does so later.
func (b *Browser) Show(t *testing.T, document string) Drawn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.requests = nil
	b.mu.Unlock()
	address := (&url.URL{Scheme: "file", Path: path}).String()
	b.Navigate(t, address)
	Evaluate[bool](t, b, Drawing, chromedp.EvalAwaitPromise)
	d := b.Inspect(t, `document.querySelector("#output") || document.body`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff([]string{address}, b.requests); diff != "" {
		t.Errorf("the document asks for more than itself (-want +got):\n%s", diff)
	}
	return d
}
