package figures

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"slices"
	"strings"
	"text/template"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// Image is a drawn picture: the name of its file without the end, and the SVG.
type Image struct {
	Name string
	SVG  []byte
}

//go:embed page.tmpl
var pageText string

// Page returns one page of HTML, which needs no other file: an overview of all verdicts, and then
// each figure beside its claim and its verdicts. images has the pictures of each figure by its id.
func Page(all []*reproduction.Reproduction, images map[string][]Image) []byte {
	return filled(pageText, all, images, "")
}

//go:embed gallery.tmpl
var galleryText string

// Gallery returns the page of the gallery in Markdown. images are as for [Page]; their files are in
// the folder that dir names, relative to the page.
func Gallery(
	all []*reproduction.Reproduction, images map[string][]Image, dir string,
) []byte {
	return filled(galleryText, all, images, dir)
}

// filled returns a template filled in with figures.
func filled(
	text string, all []*reproduction.Reproduction, images map[string][]Image, dir string,
) []byte {
	written := map[string]bool{}
	t := template.Must(template.New("").Funcs(template.FuncMap{
		// whether a note does not stand at an earlier figure
		"fresh": func(note string) bool {
			again := written[note]
			written[note] = true
			return !again
		},
		"html": html.EscapeString, "base64": base64.StdEncoding.EncodeToString, "tally": Tally,
		"from": From, "outcome": Outcome, "overview": overview,
		"verdicts": verdicts,
		"images":   func(id string) []Image { return images[id] },
		"folder":   func() string { return dir },
	}).Parse(text))
	var b bytes.Buffer
	if err := t.Execute(&b, all); err != nil {
		panic(err) // the templates are constants
	}
	return b.Bytes()
}

// verdicts returns a figure's checks in Markdown: how many agree, and a list of those that differ,
// with what was found, what was stated and the reason, one line for each reason.
func verdicts(r *reproduction.Reproduction) string {
	agree := 0
	var reasons []string
	differ := map[string][]reproduction.Check{}
	for i, c := range r.Checks {
		switch reason := c.Why; {
		case c.Verdict == reproduction.Agrees:
			agree++
		case reason == "":
			reason = fmt.Sprint("\x00", i) // none that others share
			fallthrough
		default:
			if differ[reason] == nil {
				reasons = append(reasons, reason)
			}
			differ[reason] = append(differ[reason], c)
		}
	}
	var b strings.Builder
	if agree > 0 {
		fmt.Fprintf(&b, "Agrees: %s.\n", message.Count(agree, "claim"))
	}
	if agree > 0 && len(reasons) > 0 {
		b.WriteByte('\n')
	}
	if len(reasons) > 0 {
		b.WriteString("Differs:\n\n")
	}
	for _, reason := range reasons {
		b.WriteString("- " + strings.Join(joined(differ[reason]), "; "))
		if !strings.HasPrefix(reason, "\x00") {
			b.WriteString(". " + reproduction.Escaped(reason))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// joined returns claims with what was found and what was stated. Those that are the same of several
// things with a short name, as "flow, layer 2: mean", are one: "mean: flow, layer 2 (0.7, stated
// 1)".
func joined(checks []reproduction.Check) []string {
	const shortName = 3 // words
	var claims, about []string
	for _, c := range checks {
		found := " (" + c.Found + ", stated " + c.Stated + ")"
		name, text, parted := strings.Cut(c.Claim, ": ")
		if !parted || len(strings.Fields(name)) > shortName {
			claims, about = append(claims, c.Claim+found), append(about, "")
			continue
		}
		if i := slices.Index(about, text); i >= 0 {
			claims[i] += "; " + name + found
			continue
		}
		claims, about = append(claims, text+": "+name+found), append(about, text)
	}
	for i := range claims {
		claims[i] = reproduction.Escaped(claims[i])
	}
	return claims
}

// overview returns a table of all verdicts as HTML.
func overview(all []*reproduction.Reproduction) string {
	t := reproduction.Table{Columns: []string{"figure", "document", "verdict"}}
	for _, r := range all {
		t.Rows = append(t.Rows, []string{
			r.ID + ": " + r.Title, r.Document + ", " + r.Place, Outcome(r),
		})
	}
	return t.HTML()
}

// From returns where a figure comes from and which model it was made with.
func From(r *reproduction.Reproduction) string {
	s := fmt.Sprintf("%s, %s; model %s", r.Document, r.Place, modelName(r.Model))
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
