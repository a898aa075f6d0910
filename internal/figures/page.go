package figures

import (
	"encoding/base64"
	"fmt"
	"html"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// Image is a drawn picture: the name of its file without the end, and the SVG.
type Image struct {
	Name string
	SVG  []byte
}

const pageHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Figures and tables of the four documents</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em;
  background: #fff; color: #1a1a1a }
section { border-top: 2px solid #bbb; margin-top: 2.5em }
img { max-width: 100%; background: #fff }
.claim { border-left: 4px solid #6b87c9; padding-left: 1em; margin-left: 0 }
.from, .note { color: #555; font-size: 13px }
div.table { overflow-x: auto; margin: 1em 0 }
</style></head><body>
`

// Page returns one page of HTML, which needs no other file: an overview of all verdicts, and then
// each figure beside its claim and its verdicts. images has the pictures of each figure by its id.
func Page(all []*reproduction.Reproduction, images map[string][]Image) []byte {
	var b strings.Builder
	b.WriteString(pageHead + "<h1>Figures and tables of the four documents</h1>\n<p>" +
		html.EscapeString(Tally(all)) + "</p>\n")
	var overview reproduction.Table
	overview.Columns = []string{"figure", "document", "verdict"}
	for _, r := range all {
		overview.Rows = append(overview.Rows, []string{
			r.ID + ": " + r.Title, r.Document + ", " + r.Place, Outcome(r),
		})
	}
	b.WriteString(`<div class="table">` + overview.HTML() + "</div>\n")
	for _, r := range all {
		fmt.Fprintf(&b, "<section id=%q><h2>%s: %s</h2>\n", r.ID, html.EscapeString(r.ID),
			html.EscapeString(r.Title))
		fmt.Fprintf(&b, "<p class=from>%s</p>\n", html.EscapeString(From(r)))
		fmt.Fprintf(&b, "<blockquote class=claim>%s</blockquote>\n", html.EscapeString(r.Claim))
		if r.LeftOut != "" {
			fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(r.LeftOut))
		}
		for _, i := range images[r.ID] {
			fmt.Fprintf(&b, "<p><img alt=%q src=\"data:image/svg+xml;base64,%s\"></p>\n",
				html.EscapeString(r.Title), base64.StdEncoding.EncodeToString(i.SVG))
		}
		for _, t := range r.Tables {
			b.WriteString(`<div class="table">` + t.HTML() + "</div>\n")
		}
		if len(r.Checks) > 0 {
			b.WriteString(`<div class="table">` + r.CheckTable().HTML() + "</div>\n")
		}
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "<p class=note>%s</p>\n", html.EscapeString(n))
		}
		b.WriteString("</section>\n")
	}
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

// From returns where a figure comes from and which model it was made with.
func From(r *reproduction.Reproduction) string {
	s := fmt.Sprintf("%s, %s; model %s", r.Document, r.Place, ModelName(r.Model))
	if len(r.Hash) >= 12 {
		s += " " + r.Hash[:12]
	}
	if r.Reduced {
		s += "; small sample"
	}
	return s
}

// Outcome sums up the verdicts of a figure: "agrees", "differs", "2 of 3 agree" or "left out".
func Outcome(r *reproduction.Reproduction) string {
	agree := 0
	for _, c := range r.Checks {
		if c.Verdict == reproduction.Agrees {
			agree++
		}
	}
	switch {
	case r.LeftOut != "":
		return "left out"
	case len(r.Checks) == 0:
		return ""
	case agree == len(r.Checks):
		return string(reproduction.Agrees)
	case agree == 0:
		return string(reproduction.Differs)
	}
	return fmt.Sprintf("%d of %d agree", agree, len(r.Checks))
}

// Tally counts the verdicts of all figures in one sentence.
func Tally(all []*reproduction.Reproduction) string {
	agree, differ, out := 0, 0, 0
	for _, r := range all {
		if r.LeftOut != "" {
			out++
		}
		for _, c := range r.Checks {
			if c.Verdict == reproduction.Agrees {
				agree++
			} else {
				differ++
			}
		}
	}
	s := fmt.Sprintf("%d figures and tables", len(all))
	if len(all) == 1 {
		s = "1 figure or table"
	}
	s += fmt.Sprintf(" with %s: %d agree, %d differ", message.Count(agree+differ, "claim"), agree,
		differ)
	if out > 0 {
		s += fmt.Sprintf("; %s %s left out", message.Count(out, "figure"), message.IsOrAre(out))
	}
	return s + "."
}

// colorsOfPage is about the published colours that the gallery has.
const colorsOfPage = `Where the colours of a published picture are known, these have them: the
layer graphs and the maps of Figure 4 in s1, the maps of s2, and Figures 1, 2, 4 to 6, 9 and 10
of s3, with their axes. They are changed in two places so that they can be read in grey: Figure
2 goes from a dark blue to a light red, which are alike in grey if they are pure, and Figures 4
to 6 and 9 end before the palest yellow. Figure 4 of s1 keeps the numbers at the axis of its
bars. All other pictures have the palette of this project, because the published colours are not
known.

`

// Gallery returns the page of the gallery in Markdown. images are as for [Page]; their files are in
// the folder that dir names, relative to the page.
func Gallery(
	all []*reproduction.Reproduction, images map[string][]Image, dir string,
) []byte {
	var b strings.Builder
	b.WriteString("# Figures and verdicts\n\n" +
		"What the four documents claim, and what came out here, on models that are part of the " +
		"program. Nothing was\nfitted to the outcome: a claim that does not hold is reported as " +
		"differing, with the reason if one is known.\n`headwater figures` makes this page's " +
		"figures again, and `headwater figures --model REF` makes them of another\nmodel. The " +
		"page is made by `make gallery`.\n\n" + colorsOfPage +
		Tally(all) + "\n\n| figure | shows | verdict |\n" +
		"|---|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.ID, r.ID, r.Title, Outcome(r))
	}
	for _, r := range all {
		fmt.Fprintf(&b, "\n## %s\n\n**%s.** %s.\n\n> %s\n", r.ID, r.Title, From(r), r.Claim)
		if r.LeftOut != "" {
			fmt.Fprintf(&b, "\n%s.\n", r.LeftOut)
		}
		for _, i := range images[r.ID] {
			fmt.Fprintf(&b, "\n![%s](%s/%s.svg)\n", r.Title, dir, i.Name)
		}
		for _, t := range r.Tables {
			fmt.Fprintf(&b, "\n%s\n\n%s", t.Title, t.Markdown())
		}
		if len(r.Checks) > 0 {
			fmt.Fprintf(&b, "\n%s", r.CheckTable().Markdown())
		}
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "\n%s\n", n)
		}
	}
	return []byte(b.String())
}
