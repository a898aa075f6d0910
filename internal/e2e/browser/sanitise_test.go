package browser

import (
	_ "embed"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/e2e/chromium"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
)

//go:embed testdata/sanitise.js
var sanitise string

// sanitised is what sanitise.js makes of markup.
type sanitised struct {
	Original, Sanitised string
	Dropped             []string
}

func sanitiseMarkup(t *testing.T, b *chromium.Browser, markup string) sanitised {
	t.Helper()
	quoted, err := json.Marshal(markup)
	if err != nil {
		t.Fatal(err)
	}
	return chromium.Evaluate[sanitised](t, b, "("+sanitise+")("+string(quoted)+")")
}

// TestUntrusted passes pictures through what a notebook that is not trusted keeps: all of it is
// kept.
func TestUntrusted(t *testing.T) {
	b := tab(t)
	for name, picture := range pictures(t) {
		t.Run(name, func(t *testing.T) {
			markup := fixture.Written(t, picture)
			got := sanitiseMarkup(t, b, markup)
			if len(got.Dropped) > 0 {
				t.Errorf("dropped: %.500q", got.Dropped)
			}
			if diff := cmp.Diff(got.Original, got.Sanitised); diff != "" {
				t.Errorf("the sanitised picture differs (-original +sanitised):\n%.2000s", diff)
			}
			before := b.Show(t, output(markup, "white", "black"))
			after := b.Show(t, output(got.Sanitised, "white", "black"))
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the sanitised picture is drawn differently:\n%.2000s", diff)
			}
		})
	}
}

// TestSanitiserDrops makes sure that the test above can fail.
func TestSanitiserDrops(t *testing.T) {
	b := tab(t)
	for _, c := range []struct{ name, markup, want, dropped string }{
		{"script", `<p>a<script>1</script></p>`, `<p>a</p>`, `<script>`},
		{"style element", `<style>p{}</style><p>a</p>`, `<p>a</p>`, `<style>`},
		{"svg", `<p><svg><title>a</title></svg></p>`, `<p></p>`, `<svg>`},
		{"event", `<p onclick="a()">b</p>`, `<p>b</p>`, `onclick of <p>`},
		{"data attribute", `<p data-a="1">b</p>`, `<p>b</p>`, `data-a of <p>`},
		{"hsl", `<p style="color:hsl(0,0%,0%);width:1px">b</p>`, `<p style="width:1px">b</p>`, `color:hsl(0,0%,0%)`},
		{"var", `<p style="color:var(--jp-ui)">b</p>`, `<p style="">b</p>`, `color:var(--jp-ui)`},
		{"rgb with spaces", `<p style="color:rgb(1 2 3 / 50%)">b</p>`, `<p style="">b</p>`, `color:rgb(1 2 3 / 50%)`},
		{"address", `<p style="background:url(x)">b</p>`, `<p style="">b</p>`, `background:url(x)`},
		{"position", `<p style="position:fixed">b</p>`, `<p style="">b</p>`, `position:fixed`},
		{"image", `<img src="x.png" alt="y">`, `<img alt="y">`, `src of <img>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := sanitiseMarkup(t, b, c.markup)
			if got.Sanitised != c.want || !slices.Equal(got.Dropped, []string{c.dropped}) {
				t.Errorf("sanitise(%s) = %s without %q, want %s without %q",
					c.markup, got.Sanitised, got.Dropped, c.want, c.dropped)
			}
		})
	}
}
