// Package browser tests what a reader sees of a picture: in Chromium as a page and as the output
// of a notebook, and in JupyterLab. It costs about two minutes on two cores, most of it JupyterLab
// and the explanations, which all tests share.
package browser

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/models"
)

// htmlOf returns a picture as a notebook has it, and document as a document.
var htmlOf, document = fixture.HTML, fixture.Page

const goldens = "../../../models/testdata/goldens/"

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.browser != nil {
		shared.browser.Close()
	}
	os.Exit(code)
}

// shared is what takes seconds to make and serves all tests. Each part is made by the first test
// that asks for it, and no test changes it.
var shared struct {
	model    *models.Model // the embedded one, in pure Go
	pictures map[string]render.Heatmap
	start    sync.Once
	browser  *chromium.Browser
	err      error // of start
}

// tab returns the browser that all tests share, and skips the test where there is no Chromium.
func tab(t *testing.T) *chromium.Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("opens pages in Chromium")
	}
	shared.start.Do(func() { shared.browser, shared.err = chromium.Start() })
	chromium.Check(t, shared.err)
	return shared.browser
}

// pictures returns explanations that differ in what is drawn.
func pictures(t *testing.T) map[string]render.Heatmap {
	t.Helper()
	if shared.pictures == nil {
		shared.pictures = makePictures(t)
	}
	return shared.pictures
}

// embedded returns the embedded model in pure Go.
func embedded(t *testing.T) *models.Model {
	t.Helper()
	if shared.model == nil {
		shared.model = fixture.Open(t, "", "go")
	}
	return shared.model
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// emulate makes the tab that of a medium, such as print, and of a system with features, which are
// pairs of a name and a value. A call without them is the end of it.
func emulate(t *testing.T, b *chromium.Browser, media string, features ...string) {
	t.Helper()
	params := emulation.SetEmulatedMediaParams{Media: media}
	for i := 0; i < len(features); i += 2 {
		params.Features = append(params.Features,
			&emulation.MediaFeature{Name: features[i], Value: features[i+1]})
	}
	b.Do(t, func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, params)
		return err
	})
}

// scheme is the feature of systems that are light or dark.
const scheme = "prefers-color-scheme"
