package figures

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// The choices of figures: what they can show beside what their document shows.
const (
	layerChoice = "layer"    // 0-based
	headChoice  = "head"     // 0-based
	rankChoice  = "sort_idx" // 0 is the largest score of each row
	firstChoice = "first"    // whether rows that look at the first token most are shown
)

// firstValues are the values of firstChoice, by their number.
var firstValues = []string{"left-out", "shown"}

// choose returns the figure with other choices than those of its document, such as "layer=3". They
// become a part of its ID, in the order of its choices.
func (f Figure) choose(settings []string) (Figure, error) {
	chosen := map[string]int{}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		if !slices.Contains(f.Choices, name) {
			known := "it has no choices"
			if len(f.Choices) > 0 {
				known = "it has " + strings.Join(f.Choices, ", ")
			}
			return f, trace.Usagef("figure %s has no choice %.60q; %s", f.ID, name, known)
		}
		if _, twice := chosen[name]; twice {
			return f, trace.Usagef("figure %s has %s twice; give it once", f.ID, name)
		}
		number, err := strconv.Atoi(value)
		if name == firstChoice {
			if number = slices.Index(firstValues, value); number < 0 {
				return f, trace.Usagef("figure %s: %s=%.60s; want %s", f.ID, name, value,
					strings.Join(firstValues, " or "))
			}
		} else if err != nil || number < 0 {
			return f, trace.Usagef("figure %s: %s=%.60s; want a number from 0 on", f.ID, name,
				value)
		}
		chosen[name] = number
	}
	f.chosen = chosen
	for _, name := range f.Choices {
		if number, is := chosen[name]; is {
			value := strconv.Itoa(number)
			if name == firstChoice {
				value = firstValues[number]
			}
			f.ID += fmt.Sprintf(",%s=%s", name, value)
		}
	}
	return f, nil
}

// choice returns the number from 0 to n-1 that is chosen, or what the document shows.
func (r *run) choice(name string, document, n int) (int, error) {
	number, is := r.chosen[name]
	if !is {
		return document, nil
	}
	if number >= n {
		return 0, trace.Usagef("%s=%d; want 0 to %d on %s", name, number, n-1, r.info.Name)
	}
	return number, nil
}

// leaveFirst reports whether rows that look at the first token most are left out.
func (r *run) leaveFirst(document bool) bool {
	if number, is := r.chosen[firstChoice]; is {
		return firstValues[number] == "left-out"
	}
	return document
}
