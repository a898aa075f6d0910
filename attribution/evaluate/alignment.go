package evaluate

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// align sets the scores of every method, in the picked layer for methods of one layer, and compares
// them with the evidence if there is any.
func (o Options) align(e *attribution.Explanation, c Case, r *Result, picked map[string]int) error {
	cue, err := r.cues(e.Prompt, c, o.skipsFirst(c))
	if err != nil {
		return err
	}
	r.Scores, r.Measures = map[string][]float64{}, map[string]map[string]Value{}
	for _, name := range o.Methods {
		res := e.Methods[name]
		level := res.Level(0)
		if oneLayer(name) {
			level = r.pickLevel(name, res, picked)
			if cue != nil {
				r.alignLayers(name, res, cue, o.Ties)
			}
		}
		r.Scores[name], r.Measures[name] = res.Row(0, level), map[string]Value{}
	}
	if c.Selection {
		r.Scores, r.Measures = nil, nil
		return nil
	}
	r.addPositions(len(e.Prompt.IDs))
	if cue == nil {
		return nil
	}
	r.ranked = map[string][]int{}
	for name, scores := range r.Scores {
		ranked, cue := r.rankedBy(e, name, cue)
		r.ranked[name] = ranked
		cues := r.compare(tied(sizes(rowmath.Pick(scores, ranked)), o.Ties), cue)
		if name == EarliestLine || name == LatestLine {
			cues.Dot = undefined // ranks are no shares
		}
		cues.addTo(r.Measures[name])
		if c.Counterfactual != "" {
			positions := name == EarliestLine || name == LatestLine // ranks are no shares
			r.point(rowmath.Pick(scores, ranked), cue).addTo(r.Measures[name], !positions)
		}
	}
	r.Measures[ChanceLine] = map[string]Value{}
	equal := slices.Repeat([]float64{1}, len(cue))
	r.compare(equal, cue).addTo(r.Measures[ChanceLine])
	if c.Counterfactual != "" {
		r.point(equal, cue).addTo(r.Measures[ChanceLine], false)
	}
	return nil
}

// compare is [Align], with the average precision that [Proof.Suffices] says.
func (r *Result) compare(scores []float64, cue []bool) Cues {
	c := Align(scores, cue)
	if r.Proof.oneSuffices() {
		c.AveragePrecision = c.ReciprocalRank
	}
	return c
}

// point is [point] with the average precision of [Result.compare].
func (r *Result) point(scores []float64, cue []bool) Pointing {
	p := point(scores, cue, topTokens)
	p.AveragePrecision = r.compare(scores, cue).AveragePrecision
	return p
}

// skipsFirst reports whether the first token of a case, which models use as a sink, is not ranked
// unless it is evidence. That of a pair is none; see [prover.checkPair].
func (o Options) skipsFirst(c Case) bool { return o.SkipFirst || c.Counterfactual != "" }

// cues sets which tokens are ranked, and returns for each whether it is evidence; nil without
// evidence.
func (r *Result) cues(p attribution.Prompt, c Case, skipFirst bool) ([]bool, error) {
	var form [][2]int
	if r.Proof != nil {
		form = r.Proof.deciding()
	}
	touches := func(j int, spans [][2]int) bool {
		return slices.ContainsFunc(spans, func(s [2]int) bool { return overlaps(p.Offsets[j], s) })
	}
	evidence := c.Evidence
	if r.Proof.oneSuffices() {
		evidence = nil
		for k, e := range c.Evidence {
			if r.Proof.Suffices[k] {
				evidence = append(evidence, e)
				continue
			}
			form = append(form, e)
		}
	}
	var cue []bool
	for _, j := range r.Words {
		is := touches(j, evidence)
		if j == 0 && skipFirst && !is {
			continue
		}
		if is || !touches(j, form) {
			r.Ranked, cue = append(r.Ranked, j), append(cue, is)
		}
	}
	if len(c.Evidence) == 0 {
		return nil, nil
	}
	if !slices.Contains(cue, true) {
		return nil, fmt.Errorf("no token of the prompt lies in the evidence %v", c.Evidence)
	}
	return cue, nil
}

// rankedBy returns the tokens that are ranked by a method, and which of them are evidence: without
// the last one where it asks for the prediction ([attribution.Facts.LastAsks]), unless it is
// evidence.
func (r *Result) rankedBy(e *attribution.Explanation, name string, cue []bool) ([]int, []bool) {
	res, n := e.Methods[name], len(cue)-1
	if res == nil || !res.LastAsks || e.Model.Reads() || r.Ranked[n] != len(e.Prompt.IDs)-1 ||
		cue[n] {
		return r.Ranked, cue
	}
	return r.Ranked[:n], cue[:n]
}

// pickLevel sets which layer of a method is scored, and returns its level.
func (r *Result) pickLevel(name string, res *attribution.Result, picked map[string]int) int {
	level := res.Level(0)
	if layer, ok := picked[name]; ok {
		if k := slices.Index(res.Layers, layer); k >= 0 {
			level, r.LayerChosen = k, true
		}
	}
	if r.Picked == nil {
		r.Picked = map[string]int{}
	}
	r.Picked[name], r.Layers = res.Layers[level], res.Layers
	return level
}

// alignLayers compares every layer of a method with the evidence.
func (r *Result) alignLayers(name string, res *attribution.Result, cue []bool, ties float64) {
	if r.ByLayer == nil {
		r.ByLayer = map[string][]Value{}
	}
	for k := range res.Layers {
		cues := r.compare(tied(sizes(rowmath.Pick(res.Row(0, k), r.Ranked)), ties), cue)
		r.ByLayer[name] = append(r.ByLayer[name], Value(cues.AveragePrecision))
	}
}

// addPositions adds the two scores that rank n tokens by position.
func (r *Result) addPositions(n int) {
	early, late := make([]float64, n), make([]float64, n)
	for j := range n {
		early[j], late[j] = float64(n-j), float64(j+1)
	}
	r.Scores[EarliestLine], r.Scores[LatestLine] = early, late
	r.Measures[EarliestLine], r.Measures[LatestLine] = map[string]Value{}, map[string]Value{}
}

// tied returns scores in which neighbours in falling order are equal if they differ by at most part
// times the largest score. Scores must not be negative.
func tied(scores []float64, part float64) []float64 {
	out := slices.Clone(scores)
	order := rowmath.Falling(scores, nil)
	for k, j := range order[1:] {
		if before := order[k]; scores[before]-scores[j] <= part*scores[order[0]] {
			out[j] = out[before]
		}
	}
	return out
}

// addTo adds the measures to m by their names.
func (c Cues) addTo(m map[string]Value) {
	m["average precision"], m["reciprocal rank"] = Value(c.AveragePrecision), Value(
		c.ReciprocalRank)
	m["rank"], m["share on evidence"] = Value(c.Rank), c.Dot
}
