// Package hostile has texts that would act if they were taken for markup, and checks that markup
// holds nothing that acts, for tests.
package hostile

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	tag        = regexp.MustCompile(`<(/?)([a-zA-Z]+)([^<>]*)>`)
	attributes = regexp.MustCompile(
		`^( (style|title|span|colspan|class|src|alt|width|height|role|aria-label|aria-live|` +
			`tabindex|data-palette|scope|dir|cellpadding)="([^"<>]*)"| open)*$`)
	styles    = regexp.MustCompile(`style="([^"]*)"`)
	imageFrom = regexp.MustCompile(`src="([^"]*)"`)
	images    = regexp.MustCompile(`^data:image/(png|svg\+xml);base64,[A-Za-z0-9+/=]*$`)
	// The sanitisers of notebooks drop these.
	neverInside = regexp.MustCompile(`(?i)hsl|var\(|url\(|expression|javascript:|rgb`)
	elements    = strings.Fields("div p small span b u br table thead tbody tr td th colgroup " +
		"img details summary pre bdi")
)

// Markup checks that markup without its scripts and style sheet holds nothing that a sanitiser of
// notebooks removes, and is balanced. Of a page it looks at the body.
func Markup(t *testing.T, markup string) {
	t.Helper()
	if _, body, is := strings.Cut(markup, "<body"); is {
		_, body, _ = strings.Cut(body, ">")
		markup, _, _ = strings.Cut(body, "</body>")
	}
	var open []string
	for _, m := range tag.FindAllStringSubmatch(markup, -1) {
		name := m[2]
		switch {
		case !slices.Contains(elements, name) || !attributes.MatchString(m[3]):
			t.Fatalf("element %q", m[0])
		case m[1] != "/" && (name == "br" || name == "img"):
		case m[1] != "/":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			t.Fatalf("%q closes %v", m[0], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) != 0 {
		t.Fatalf("not closed: %v", open)
	}
	if rest := tag.ReplaceAllString(markup, ""); strings.ContainsAny(rest, "<>\"") {
		t.Fatal("markup outside of elements")
	}
	for _, m := range styles.FindAllStringSubmatch(markup, -1) {
		if neverInside.MatchString(m[1]) {
			t.Fatalf("style %q", m[1])
		}
	}
	for _, m := range imageFrom.FindAllStringSubmatch(markup, -1) {
		if !images.MatchString(m[1]) {
			t.Fatalf("image %.100q", m[1])
		}
	}
}

// pieces are parts of texts that would act if they were taken for anything but text.
var pieces = []string{
	"</script>", "<script>alert(1)</script>", `<img src=x onerror="alert(1)">`, "<!--", "-->",
	"]]>", `" onmouseover="alert(1)`, `' style='background:url(x)`, "</td></table></div>",
	"</style>", "</details>", "<svg onload=alert(1)>", "&lt;", "&#60;", "&amp;", "javascript:",
	"\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\x00", "\x1b[31m", "\r\n", "\t", "\n",
	"\xe2\x82", "\xff", "a\u0301\u0301\u0301\u0301", "\U000e0041", "東京", " ", "  ", "",
	`\u003c`, `\`, "`", "${alert(1)}", "'", `"`, "<", ">", "&", strings.Repeat("<b>", 400),
}

// Text joins up to six pieces.
func Text(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(7) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}
