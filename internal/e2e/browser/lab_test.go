package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// control is an output with a script, which runs in a trusted notebook and nowhere else.
const control = `<b>control</b><script>window.hit = "control"</script>`

// labMarkups returns the markup of a picture of every kind, by name.
func labMarkups(t *testing.T) map[string]string {
	t.Helper()
	markups := map[string]string{
		"view flow": htmlOf(flowing(t)), "view heads": htmlOf(attended()),
		"view layers": htmlOf(render.Layers{
			Heatmap: render.Heatmap{Explanation: touched()},
		}),
		"view sources": htmlOf(render.Sources{Result: caused(t)}),
		"view maps":    htmlOf(mapped(touched())),
		"view experts": htmlOf(routed()),
	}
	// JupyterLab typesets mathematics between dollars, but not here.
	money := touched()
	money.Prompt.Texts = []string{"tea $", "4%", " or $", "5"}
	place(money)
	markups["dollars"] = htmlOf(render.Heatmap{Explanation: money})
	for name, picture := range pictures(t) {
		markups[name] = htmlOf(picture)
	}
	return markups
}

// TestJupyterLab opens a notebook of pictures in JupyterLab itself: each is drawn as on a page of
// its own, in light and dark, whether the notebook is trusted or not.
func TestJupyterLab(t *testing.T) {
	if testing.Short() {
		t.Skip("a server and three pages of JupyterLab")
	}
	b := chromium.Open(t) // of its own: JupyterLab goes on asking its server after the test
	all := labMarkups(t)
	names := slices.Sorted(maps.Keys(all))
	want, static := map[string]chromium.Drawn{}, map[string]chromium.Drawn{}
	for _, name := range names {
		markup := all[name]
		want[name] = b.Show(t, output(markup, "white", "black"))
		static[name] = b.Show(t,
			output(sanitiseMarkup(t, b, markup).Sanitised, "white", "black"))
	}
	lab := startLab(t, names, all)
	for _, c := range []struct {
		name, theme string
		trusted     bool
	}{
		{"untrusted", "JupyterLab Light", false},
		{"untrusted, dark", "JupyterLab Dark", false},
		{"trusted, dark", "JupyterLab Dark", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.trusted {
				lab.command(t, "jupyter", "trust", "pictures.ipynb")
			}
			lab.set(t, "apputils-extension", "themes", fmt.Sprintf(`{"theme":%q}`, c.theme))
			hit := "undefined"
			if c.trusted {
				hit = "control"
			}
			lab.open(t, b, page{len(names) + 1, c.theme, hit})
			if c.trusted {
				chromium.Evaluate[bool](t, b, chromium.Drawing, await)
			}
			for i, name := range names {
				got := b.Inspect(t, fmt.Sprintf("document.querySelectorAll('%s')[%d]", outputs, i))
				checkColors(t, got)
				alone := static[name]
				if c.trusted {
					alone = want[name]
				}
				if diff := cmp.Diff(alone.Text, got.Text); diff != "" {
					t.Errorf("%s is drawn differently (-alone +notebook):\n%.2000s", name, diff)
				}
				if diff := cmp.Diff(alone.Elements, got.Elements); diff != "" {
					t.Errorf("%s has other elements (-alone +notebook):\n%s", name, diff)
				}
			}
			if c.trusted {
				lab.touch(t, b, slices.Index(names, "contrast"))
			}
		})
	}
}

// touch chooses a token of a picture by a click and the one before it by a key: the notebook takes
// neither, and a letter that it knows as a command does nothing.
func (l *jupyterLab) touch(t *testing.T, b *chromium.Browser, output int) {
	t.Helper()
	chromium.Evaluate[bool](t, b, fmt.Sprintf(`(() => {
		const root = document.querySelectorAll('%s')[%d].querySelector('.hm');
		root.querySelectorAll('.hm-text :is(span,u)')[18].click();
		root.focus();
		return true;
	})()`, outputs, output))
	for _, key := range []string{"ArrowLeft", "b"} {
		b.Do(t, func(ctx context.Context) error {
			for _, kind := range []string{"keyDown", "keyUp"} {
				_, err := chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{
					Type: input.DispatchKeyEventType(kind), Key: key,
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	type seen struct {
		Framed int
		Cells  int
	}
	got := chromium.Evaluate[seen](t, b, fmt.Sprintf(`({
		Framed: [...document.querySelectorAll('%s')[%d].querySelectorAll('.hm-text :is(span,u)')].
			findIndex((e) => e.classList.contains('hm-here')),
		Cells: document.querySelectorAll('.jp-Notebook .jp-CodeCell').length,
	})`, outputs, output))
	cells := chromium.Evaluate[int](t, b,
		fmt.Sprintf("document.querySelectorAll('%s').length", outputs))
	if want := (seen{17, cells}); got != want {
		t.Errorf("after a click and keys the picture frames token %d in a notebook of %d cells, "+
			"want %d in %d", got.Framed, got.Cells, want.Framed, want.Cells)
	}
}

// outputs selects what JupyterLab renders HTML into.
const outputs = ".jp-OutputArea-output.jp-RenderedHTMLCommon"

// jupyterLab is a server with a home of its own.
type jupyterLab struct {
	dir, server string
	env         []string
}

// address is the page of a notebook.
func (l *jupyterLab) address(notebook string) string {
	return l.server + "/lab/tree/" + notebook + "?token=headwater&reset"
}

// startLab serves a folder with the notebook pictures.ipynb and skips where there is no JupyterLab.
func startLab(t *testing.T, names []string, all map[string]string) *jupyterLab {
	t.Helper()
	dir := t.TempDir()
	var markups []string
	for _, name := range names {
		markups = append(markups, all[name])
	}
	cells := notebook(t, append(markups, control))
	must(t, os.WriteFile(filepath.Join(dir, "pictures.ipynb"), cells, 0o600))
	return serveLab(t, dir)
}

// serveLab serves a folder, with these variables for the server and its kernels, and skips where
// there is no JupyterLab.
func serveLab(t *testing.T, dir string, env ...string) *jupyterLab {
	t.Helper()
	if _, err := exec.LookPath("jupyter-lab"); err != nil {
		t.Skip("no JupyterLab in the PATH; make test sets it up")
	}
	port := freePort(t)
	lab := &jupyterLab{dir, fmt.Sprintf("http://127.0.0.1:%d", port), env}
	lab.set(t, "notebook-extension", "tracker", `{"windowingMode":"none"}`)
	lab.set(t, "apputils-extension", "notification",
		`{"fetchNews":"false","checkForUpdates":false}`)
	cmd := lab.cmd("jupyter-lab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
		fmt.Sprint("--ServerApp.port=", port), "--ServerApp.port_retries=0",
		"--IdentityProvider.token=headwater", "--LabApp.user_settings_dir=settings",
		"--LabApp.workspaces_dir=workspaces", "--LabApp.expose_app_in_browser=True")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	t.Cleanup(func() {
		// It ends its kernels, which are in groups of their own, and then itself.
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(labEnd, func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		})
		defer kill.Stop()
		_ = cmd.Wait()
	})
	lab.await(t, lab.server+"/api")
	return lab
}

// cmd is a command in the folder, with everything that Jupyter writes below it.
func (l *jupyterLab) cmd(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = l.dir
	cmd.Env = append(append(os.Environ(), l.env...),
		"JUPYTER_DATA_DIR="+l.dir+"/data", "JUPYTER_CONFIG_DIR="+l.dir+"/config",
		"JUPYTER_RUNTIME_DIR="+l.dir+"/runtime", "IPYTHONDIR="+l.dir+"/ipython")
	return cmd
}

func (l *jupyterLab) command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := l.cmd(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// set writes the settings of an extension.
func (l *jupyterLab) set(t *testing.T, extension, plugin, settings string) {
	t.Helper()
	dir := filepath.Join(l.dir, "settings", "@jupyterlab", extension)
	must(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, plugin+".jupyterlab-settings")
	must(t, os.WriteFile(path, []byte(settings), 0o600))
}

// labWait is how long a server or a page may take to come up, on a machine that does other things.
const labWait = time.Minute

// labEnd is how long a server may take to end its kernels and itself.
const labEnd = 20 * time.Second

// await waits until the server answers.
func (l *jupyterLab) await(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(labWait); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(address)
		if err == nil {
			response.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("JupyterLab does not answer: %v", err)
		}
	}
}

// page is how far a page of JupyterLab is: how many outputs it shows, in which theme, and what the
// control says, which tells whether the notebook is trusted.
type page struct {
	Outputs    int
	Theme, Hit string
}

// open loads the notebook and waits until the page is as wanted.
func (l *jupyterLab) open(t *testing.T, b *chromium.Browser, want page) {
	t.Helper()
	b.Navigate(t, l.address("pictures.ipynb"))
	for deadline := time.Now().Add(labWait); ; time.Sleep(100 * time.Millisecond) {
		got := chromium.Evaluate[page](t, b, fmt.Sprintf(`({
			Outputs: document.querySelectorAll('%s').length,
			Theme: String(document.body.dataset.jpThemeName),
			Hit: String(window.hit)
		})`, outputs))
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("JupyterLab shows %+v, want %+v", got, want)
		}
	}
}

// notebook is a notebook with an output for each piece of markup.
func notebook(t *testing.T, markups []string) []byte {
	t.Helper()
	var cells []object
	for i, markup := range markups {
		cells = append(cells, object{
			"cell_type": "code", "id": fmt.Sprint("cell-", i), "metadata": object{},
			"execution_count": i + 1, "source": "",
			"outputs": []object{{"output_type": "display_data", "metadata": object{}, "data": object{"text/html": markup}}},
		})
	}
	return notebookOf(t, cells, object{
		"name": "python3", "display_name": "Python 3", "language": "python",
	})
}

// object is one of JSON.
type object = map[string]any

// notebookOf is a notebook of these cells for a kernel.
func notebookOf(t *testing.T, cells []object, kernel object) []byte {
	t.Helper()
	data, err := json.Marshal(object{
		"nbformat": 4, "nbformat_minor": 5, "cells": cells,
		"metadata": object{"kernelspec": kernel},
	})
	must(t, err)
	return data
}

// freePort returns a port of this machine that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

var must = testhelp.Must // ends a test at an error
