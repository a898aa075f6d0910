package figures

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
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
	t := template.Must(template.New("").Funcs(template.FuncMap{
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

// verdicts returns the table of a figure's checks in Markdown. A reason that several checks share
// is written once, with a number that stands for it in the others.
func verdicts(r *reproduction.Reproduction) string {
	t := r.CheckTable()
	const why = 4 // the column of reasons, if there are any
	share, numbers := map[string]int{}, map[string]string{}
	for i, row := range t.Rows {
		if len(row) > why && row[why] == "" {
			t.Rows[i] = row[:why]
		} else if len(row) > why {
			share[row[why]]++
		}
	}
	for _, row := range t.Rows {
		if len(row) <= why || share[row[why]] == 1 {
			continue
		}
		reason := row[why]
		if number, written := numbers[reason]; written {
			row[why] = number
			continue
		}
		numbers[reason] = fmt.Sprintf("(%d)", len(numbers)+1)
		row[why] = numbers[reason] + " " + reason
	}
	return t.Markdown()
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
