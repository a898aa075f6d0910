package e2e

import (
	"context"
	_ "embed"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

//go:embed testdata/inspect.js
var inspect string

// browser is one Chromium with one tab.
type browser struct {
	ctx context.Context
	mu  sync.Mutex
	// requests are the addresses that the tab has asked for.
	requests []string
}

// openBrowser starts Chromium with a profile of its own, and skips where there is none.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium here; on Debian: apt-get install chromium")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1200, 900),
		chromedp.Env("TMPDIR=" + t.TempDir()), // it leaves something there
		chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
	}
	for _, flag := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage",
		"disable-extensions", "disable-breakpad",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{ctx: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.requests = append(b.requests, e.Request.URL)
		}
	})
	if err == nil {
		_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	}
	if err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return b
}

// evaluate returns what an expression is in the tab.
func evaluate[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// drawn is what inspect.js says of a document.
type drawn struct {
	Elements map[string]int
	// Colored are the elements with a colour of their own, Texts the pieces of text. Both says whether an element sets background
	// and colour, and whether a text stands on a background of the picture.
	Colored, Texts []paint
	Text, Hit      string
	// Wide is by how many pixels the document is wider than the window.
	Wide int
}

type paint struct {
	Text, Color, Background string
	Both                    bool
}

// inspect returns what is drawn below an element of the tab, given as an expression.
func (b *browser) inspect(t *testing.T, root string) drawn {
	t.Helper()
	return evaluate[drawn](t, b, "("+inspect+")("+root+")")
}

// show opens a document as a file and returns what is drawn. Nothing but the file may be asked for, not even by what the
// document does later.
func (b *browser) show(t *testing.T, document string) drawn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.requests = nil
	b.mu.Unlock()
	address := (&url.URL{Scheme: "file", Path: path}).String()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	// The second frame comes after everything that the first one asked for.
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](
		`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, chromedp.EvalAwaitPromise)); err != nil {
		t.Fatal(err)
	}
	d := b.inspect(t, `document.querySelector("#output") || document.body`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff([]string{address}, b.requests); diff != "" {
		t.Errorf("the document asks for more than itself (-want +got):\n%s", diff)
	}
	return d
}
