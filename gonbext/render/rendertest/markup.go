package rendertest

import (
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
		"img details summary")
)

// Markup checks that markup without its scripts holds nothing that a sanitiser of notebooks removes
// besides its style sheet, and is balanced. Of a page it looks at the body.
func Markup(t *testing.T, markup string) {
	t.Helper()
	if _, body, is := strings.Cut(markup, "<body"); is {
		_, body, _ = strings.Cut(body, ">")
		markup, _, _ = strings.Cut(body, "</body>")
	}
	markup = sheets.ReplaceAllString(markup, "")
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
