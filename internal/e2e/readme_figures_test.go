package e2e

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/train"
)

var update = flag.Bool("update", false, "write the parts of the documents that programs write")

// part compares the text between two marks of a document with what it must be, or writes it.
func part(t *testing.T, doc, name, want string) {
	t.Helper()
	partBut(t, doc, name, want, nil)
}

// partBut is part, except that what matches but may differ, because machines round differently.
func partBut(t *testing.T, doc, name, want string, but *regexp.Regexp) {
	t.Helper()
	path := root + doc
	text := read(t, path)
	begin := fmt.Sprintf("<!-- %s: written by %s with -update -->\n", name, t.Name())
	end := fmt.Sprintf("<!-- end of %s -->\n", name)
	before, rest, ok := strings.Cut(text, begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s lacks %s or %s", doc, begin, end)
	}
	if *update {
		must(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
		return
	}
	if but != nil {
		got, want = but.ReplaceAllString(got, "#"), but.ReplaceAllString(want, "#")
	}
	if got != want {
		t.Errorf("%s does not say, as -update writes:\n\n%s", doc, want)
	}
}

// TestReadmeFigures compares the figures of the embedded model with the report of its training.
func TestReadmeFigures(t *testing.T) { part(t, toysPage, "figures", figures(report(t))) }

// toysPage is the document about the embedded models.
const toysPage = "docs/measured/toys.md"

// figures is the part of it about a training. A form of a kind has a row if it is not always right.
func figures(r *train.Report) string {
	var b strings.Builder
	b.WriteString("| right by argmax | held-out combinations | trained combinations " +
		"| last word | chance | answers |\n|---|---|---|---|---|---|\n")
	for i, held := range r.HeldOut {
		seen := r.Seen[i]
		row(&b, held.Kind, held.Score, seen.Score)
		parts, others, name := held.ByForm, seen.ByForm, "%s"
		if held.Kind == "agreement" {
			parts, others, name = held.ByAttractors, seen.ByAttractors, "attractors: %s"
		}
		for j := range parts {
			if len(parts) > 1 && min(parts[j].Right, others[j].Right) < 1 {
				row(&b, "– "+fmt.Sprintf(name, parts[j].Name), parts[j].Score, others[j].Score)
			}
		}
	}
	fmt.Fprintf(&b, "\n%d steps from seed %d on %s; %d parameters, %d tokens in the vocabulary; "+
		"SHA-256 of the weights %.12s….\n",
		r.Config.Steps, r.Config.Seed, r.Backend, r.Parameters, r.Vocabulary, r.WeightHash)
	return b.String()
}

func row(b *strings.Builder, name string, held, seen train.Score) {
	fmt.Fprintf(b, "| %s | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %d |\n", name,
		100*held.Right, 100*seen.Right, 100*held.LastWord, 100*held.Chance, held.Answers)
}

// The picture of the README.
const (
	picturePath   = root + "docs/heatmap.png"
	picturePrompt = "When Mary and John went to the store, John gave a drink to"
	pictureWidth  = 1000    // pixels
	pictureBytes  = 300_000 // at most
)

// TestReadmePicture compares the description of the picture with what SmolLM2 says. The pixels are
// not compared, because they depend on fonts; the hash of the model in the description shows when
// the picture is old.
func TestReadmePicture(t *testing.T) {
	if !*update {
		picture(t)
	}
	if testing.Short() {
		t.Skip("loads a model of 538 MB")
	}
	folder, found := smolLM2(t)
	if !found {
		t.Skip("the model is not there; make smollm2 brings it")
	}
	t.Setenv("HEADWATER_MODELS", folder)
	m := fixture.Open(t, "smollm2", "go")
	e := fixture.Explain(t, m, picturePrompt, attribution.Options{MaxTokens: 1})
	answer, methods := strings.TrimSpace(e.Steps[0].Text), strings.Join(e.Order, " and ")
	part(t, "README.md", "picture", fmt.Sprintf("![The prompt “%s” and its answer “%s”, with "+
		"the prompt coloured by %s; model %s %.12s](docs/heatmap.png)\n",
		picturePrompt, answer, methods, e.Model.Name, e.Model.Hash))
	if *update {
		draw(t, e)
		picture(t)
	}
}

// smolLM2 returns the folder into which make smollm2 brings the model, and whether it is there. In
// the cache of the Hub it has other weights.
func smolLM2(t *testing.T) (folder string, found bool) {
	t.Helper()
	folder, err := filepath.Abs(root + ".cache/models")
	must(t, err)
	files, err := filepath.Glob(filepath.Join(folder, "smollm2", "*.gguf"))
	must(t, err)
	return folder, len(files) > 0
}

// picture checks the size of the committed picture.
func picture(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(picturePath)
	must(t, err)
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil || config.Width != pictureWidth || len(data) > pictureBytes {
		t.Errorf("%s: %d pixels wide and %d bytes, want %d and at most %d: %v", picturePath,
			config.Width, len(data), pictureWidth, pictureBytes, err)
	}
}

// draw writes the picture as a browser shows it, with the matrices of both methods and
// the parts closed that a reader opens.
func draw(t *testing.T, e *attribution.Explanation) {
	t.Helper()
	b := chromium.Open(t)
	resize := func(height int64) {
		b.Do(t, func(ctx context.Context) error {
			return chromedp.Do(ctx, chromedp.EmulateViewport(pictureWidth, height))
		})
	}
	resize(100)
	var page strings.Builder
	must(t, render.Page(&page, render.Heatmap{Explanation: e}))
	b.Show(t, page.String())
	chromium.Evaluate[int](t, b, `[...document.querySelectorAll("details")].
		map(part => part.open = false).length`)
	resize(chromium.Evaluate[int64](t, b, "document.documentElement.scrollHeight"))
	b.Do(t, func(ctx context.Context) error {
		data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil {
			return err
		}
		return os.WriteFile(picturePath, data, 0o644)
	})
}
