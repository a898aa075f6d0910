// Package reproduction has what comes out when a figure or a table of a published document is made
// again: charts, tables, and a verdict on each of the document's claims.
//
// The engine and the command make a [Reproduction], which travels as JSON, and cells and files show
// it. The package imports the standard library and gonbext/render/chart alone.
package reproduction

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render/chart"
)

// Head identifies a figure and has the claim of its document.
type Head struct {
	// ID names the figure, such as s1-fig2.
	ID string `json:"id"`
	// Document is the short reference of the document, such as "Abnar and Zuidema 2020".
	Document string `json:"document"`
	// Place is where in the document: "Figure 2", "Table 1", "recipe".
	Place string `json:"place"`
	// Title names what is shown.
	Title string `json:"title"`
	// Claim is what the document claims, in our words.
	Claim string `json:"claim"`
}

// Reproduction is a figure or a table of a document, made again.
type Reproduction struct {
	Head
	// Model is the model that it is of. Hash is that of the model.
	Model   string `json:"model"`
	Hash    string `json:"hash"`
	Backend string `json:"backend"`
	// Reduced reports whether it was made from a small sample.
	Reduced bool `json:"reduced,omitempty"`
	// LeftOut, if not empty, is why there is nothing else: the figure does not fit the model.
	LeftOut string `json:"left_out,omitempty"`
	// Pictures and Tables are what the figure shows, in order.
	Pictures []Picture `json:"pictures,omitempty"`
	Tables   []Table   `json:"tables,omitempty"`
	// Checks are the claims with what came out.
	Checks []Check `json:"checks,omitempty"`
	// Notes are remarks on data and on known differences from the document.
	Notes []string `json:"notes,omitempty"`
}

// Picture is one or more charts that belong together, drawn as one file.
type Picture struct {
	// Name tells the pictures of a figure apart; it is empty if there is one.
	Name string `json:"name,omitempty"`
	// Columns is how many charts stand side by side.
	Columns int           `json:"columns"`
	Charts  []chart.Chart `json:"charts"`
	Drawn
}

// Drawn is a picture as a notebook shows it, empty until it is drawn: as SVG, with titles that tell
// the numbers, and as PNG for viewers that show no SVG.
type Drawn struct {
	SVG []byte `json:"svg,omitempty"`
	PNG []byte `json:"png,omitempty"`
}

// Text returns in words what the picture shows, a line for each chart.
func (p Picture) Text() string {
	var b strings.Builder
	for _, c := range p.Charts {
		fmt.Fprintf(&b, "[%s] %s", c.Kind, c.Title)
		if c.Subtitle != "" {
			fmt.Fprintf(&b, " (%s)", c.Subtitle)
		}
		if x, y := c.X.Label(), c.Y.Label(); x != "" || y != "" {
			fmt.Fprintf(&b, "; across: %s; up: %s", x, y)
		}
		var names []string
		for _, s := range c.Series {
			names = append(names, s.Name)
		}
		if len(names) > 1 && len(names) <= 12 {
			fmt.Fprintf(&b, "; series: %s", strings.Join(names, ", "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Table is a table of texts.
type Table struct {
	// Name tells the tables of a figure apart; it is empty if there is one.
	Name  string `json:"name,omitempty"`
	Title string `json:"title"`
	// Columns are the headings, and each row has a text for each of them.
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Verdict is whether what came out agrees with a claim.
type Verdict string

// The verdicts.
const (
	Agrees  Verdict = "agrees"
	Differs Verdict = "differs"
)

// Check is one claim, with what came out.
type Check struct {
	// ID tells the checks of a figure apart.
	ID string `json:"id"`
	// Claim is what is expected.
	Claim string `json:"claim"`
	// Stated is the number that the document states with its tolerance, or the direction that it
	// claims; Found is what came out.
	Stated string `json:"stated"`
	Found  string `json:"found"`
	// Verdict compares them.
	Verdict Verdict `json:"verdict"`
	// Why gives the reason of a difference, if one is known.
	Why string `json:"why,omitempty"`
}

// Read reads what [Reproduction.Write] wrote, any number of times.
func Read(r io.Reader) ([]*Reproduction, error) {
	var all []*Reproduction
	for d := json.NewDecoder(r); ; {
		var one Reproduction
		switch err := d.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("reproduction %d: %w", len(all), err)
		}
		all = append(all, &one)
	}
}

// Write writes the reproduction as JSON on one line. Infinite numbers in a chart are an error.
func (r *Reproduction) Write(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// Name returns the name of the file of a picture or a table, without its end.
func (r *Reproduction) Name(part string) string {
	if part == "" {
		return r.ID
	}
	return r.ID + "-" + part
}

// Verdicts returns a table of the checks of several figures. Its title names their models.
func Verdicts(all ...*Reproduction) Table {
	var models []string
	for _, r := range all {
		if !slices.Contains(models, r.Model) {
			models = append(models, r.Model)
		}
	}
	t := Table{
		Name: "verdicts", Title: "Claims and verdicts on " + strings.Join(models, ", "),
		Columns: []string{"figure", "claim", "stated", "found", "verdict", "why"},
	}
	for _, r := range all {
		if r.LeftOut != "" {
			t.Rows = append(t.Rows, []string{r.ID, r.Claim, "", "", "left out", r.LeftOut})
		}
		for _, c := range r.Checks {
			t.Rows = append(t.Rows, []string{
				r.ID, c.Claim, c.Stated, c.Found, string(c.Verdict), c.Why,
			})
		}
	}
	return t
}

// CheckTable returns a table of the checks of one figure.
func (r *Reproduction) CheckTable() Table {
	t := Verdicts(r)
	t.Title = "Verdicts"
	t.Columns = t.Columns[1:]
	reasons := false
	for i := range t.Rows {
		t.Rows[i] = t.Rows[i][1:]
		reasons = reasons || t.Rows[i][4] != ""
	}
	if !reasons {
		t.Columns = t.Columns[:4]
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][:4]
		}
	}
	return t
}
