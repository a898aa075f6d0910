package figures

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/internal/reproduction"
)

//go:embed verdicts.json
var recorded []byte

// Record is the verdict on one check that was recorded for a figure on its default model.
type Record struct {
	Figure string `json:"figure"`
	Check  string `json:"check"`
	// Found is what came out, and Verdict what it means, from the full sample. Reduced is the
	// verdict of the reduced sample, if that is another one.
	Found   string               `json:"found"`
	Verdict reproduction.Verdict `json:"verdict"`
	Reduced reproduction.Verdict `json:"reduced,omitempty"`
	// Why is the reason of a difference, found by somebody who looked.
	Why string `json:"why,omitempty"`
}

// Recorded returns the recorded verdicts in the order of the figures.
func Recorded() []Record {
	var all []Record
	if err := json.Unmarshal(recorded, &all); err != nil {
		panic(fmt.Sprintf("figures: verdicts.json: %v", err)) // a test reads it
	}
	return all
}

// find returns the record of a check, nil if there is none.
func find(all []Record, figure, check string) *Record {
	i := slices.IndexFunc(all, func(r Record) bool {
		return r.Figure == figure && r.Check == check
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// explainDifferences fills in the recorded reasons of differences, which are about the default
// model.
func explainDifferences(f Figure, r *reproduction.Reproduction) {
	if r.Model != f.Model {
		return
	}
	all := Recorded()
	for i, c := range r.Checks {
		if rec := find(all, r.ID, c.ID); rec != nil && c.Verdict == reproduction.Differs {
			r.Checks[i].Why = rec.Why
		}
	}
}

// Comparison is a check beside its record.
type Comparison struct {
	Figure string
	reproduction.Check
	// Was is the recorded verdict; empty if there is no record.
	Was reproduction.Verdict
}

// Regression reports whether a claim agreed when it was recorded and does not now, or was not
// checked at all now. What differed then and now is no regression.
func (c Comparison) Regression() bool {
	return c.Was == reproduction.Agrees && c.Verdict != reproduction.Agrees
}

// Compare returns the checks of a figure with what was recorded. A recorded check that was not made
// has an empty verdict. Nothing is recorded for a model that is not the figure's own.
func Compare(r *reproduction.Reproduction) []Comparison {
	if r.Model != DefaultModel(r.ID) {
		return compare(r, nil)
	}
	return compare(r, Recorded())
}

func compare(r *reproduction.Reproduction, all []Record) []Comparison {
	var out []Comparison
	checked := map[string]bool{}
	for _, c := range r.Checks {
		checked[c.ID] = true
		one := Comparison{Figure: r.ID, Check: c}
		if rec := find(all, r.ID, c.ID); rec != nil {
			one.Was = rec.Verdict
			if r.Reduced && rec.Reduced != "" {
				one.Was = rec.Reduced
			}
		}
		out = append(out, one)
	}
	for _, rec := range all {
		if rec.Figure == r.ID && !checked[rec.Check] {
			out = append(out, Comparison{
				Figure: r.ID, Was: rec.Verdict,
				Check: reproduction.Check{ID: rec.Check, Claim: "recorded, and not made now"},
			})
		}
	}
	return out
}

// String returns one line: figure, verdict, what was stated and what came out.
func (c Comparison) String() string {
	state := ""
	switch {
	case c.Verdict == "":
		return fmt.Sprintf("%s/%s: recorded as %q, and not made now", c.Figure, c.ID, c.Was)
	case c.Regression():
		state = " (REGRESSION: recorded as agreeing)"
	case c.Was == "":
		state = " (not recorded)"
	case c.Was != c.Verdict:
		state = " (recorded as differing; record it again)"
	case c.Verdict == reproduction.Differs:
		state = " (as recorded)"
	}
	return fmt.Sprintf("%s/%s: %s%s: stated %s, found %s", c.Figure, c.ID, c.Verdict, state,
		c.Stated, c.Found)
}
