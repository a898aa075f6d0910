package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/command"
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

// The pictures of the README and of the page on reading them.
const (
	pictureWidth = 1000    // pixels
	pictureBytes = 300_000 // at most
)

var pictures = []string{root + "docs/heatmap.png", root + "docs/reading-the-picture.png"}

// numbered are the parts of the page that docs/reading-the-picture.md explains, in its order.
const numbered = `[".hm-say", ".hm-test", ".hm-prose .hm-src", ".hm-prose .hm-here", ".hm-heading",
	".hm-rows .hm-here", ".hm-legend", ".hm-details"]`

// TestReadmePicture runs the command that the README names below its picture, and compares the
// description of the picture with what it prints. The pixels are not compared, because they depend
// on fonts; the hash of the model in the description shows when the picture is old.
func TestReadmePicture(t *testing.T) {
	if !*update {
		checkPictures(t)
	}
	if testing.Short() {
		t.Skip("loads a model of 538 MB")
	}
	folder, found := smolLM2(t)
	if !found {
		t.Skip("the model is not there; make smollm2 brings it")
	}
	t.Setenv("HEADWATER_MODELS", folder)
	named := regexp.MustCompile(`(?m)^headwater .* -o bridge.html .*$`)
	line := named.FindString(read(t, root+"README.md"))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `headwater() { "$0" "$@"; }; `+line+" -o -",
		command.Path(t))
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	sentence, rest, _ := strings.Cut(string(out), "\n")
	model := regexp.MustCompile(`(?m)^model +(\S+ \S+)`).FindStringSubmatch(rest)
	if model == nil {
		t.Fatalf("%s prints no line about the model:\n%s", line, out)
	}
	part(t, "README.md", "picture", fmt.Sprintf("![A question over three passages and the answer "+
		"of a model: %s; model %s](docs/heatmap.png)\n", sentence, model[1]))
	if *update {
		draw(t, read(t, filepath.Join(cmd.Dir, "bridge.html")))
		checkPictures(t)
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

// checkPictures checks the sizes of the committed pictures.
func checkPictures(t *testing.T) {
	t.Helper()
	for _, path := range pictures {
		data, err := os.ReadFile(path)
		must(t, err)
		config, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil || config.Width != pictureWidth || len(data) > pictureBytes {
			t.Errorf("%s: %d pixels wide and %d bytes, want %d and at most %d: %v", path,
				config.Width, len(data), pictureWidth, pictureBytes, err)
		}
	}
}

// draw writes the pictures as a browser shows the page: as it is, and with a number at the left of
// each part.
func draw(t *testing.T, page string) {
	t.Helper()
	b := chromium.Open(t)
	b.Resize(t, pictureWidth, 900)
	b.Show(t, page) // opens what a reader opens
	chromium.Evaluate[int](t, b, `[...document.querySelectorAll("details")].
		map((part) => part.open = false).length`)
	for i, path := range pictures {
		if i > 0 {
			chromium.Evaluate[int](t, b, `(() => {
				document.body.style.paddingLeft = "48px";
				return `+numbered+`.map((part, i) => {
					const {top} = document.querySelector(part).getBoundingClientRect();
					document.body.append(Object.assign(document.createElement("b"), {
						textContent: i + 1, style: "position:absolute;left:12px;width:24px;" +
							"border-radius:12px;background:#b3261e;color:#fff;text-align:center;" +
							"font:bold 14px/24px sans-serif;top:" + (scrollY + top) + "px",
					}));
				}).length;
			})()`)
		}
		b.Resize(t, pictureWidth, 100)
		b.Resize(t, pictureWidth, chromium.Evaluate[int64](
			t, b, "document.documentElement.scrollHeight"))
		shot, err := png.Decode(bytes.NewReader(b.Screenshot(t, nil)))
		must(t, err)
		var small bytes.Buffer
		must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, shot))
		must(t, os.WriteFile(path, small.Bytes(), 0o644))
	}
}
