package models

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
	"github.com/headwater-ml/headwater/models/transformer"
)

// beamRules are how beams are compared: what generation_config.json says, or the defaults of
// transformers.
type beamRules struct {
	// penalty is length_penalty: the sum of the log-probabilities of a text of n tokens is divided
	// by n^penalty.
	penalty float64
	// early ends the search as soon as there are enough texts; never compares running texts at the
	// length that they may reach (early_stopping).
	early, never bool
}

// readBeamRules reads generation_config.json. The remark names the number of beams that it asks
// for.
func readBeamRules(generation map[string]any) (r beamRules, remark string, err error) {
	wrong := func(key, want string) error {
		return pkg.Errorf("generation_config.json: %s is %.60v; want %s", key, generation[key],
			want)
	}
	r.penalty = 1
	if v := generation["length_penalty"]; v != nil {
		number, _ := v.(json.Number)
		r.penalty, err = number.Float64()
		if err != nil || math.IsNaN(r.penalty) || math.Abs(r.penalty) > 100 {
			return r, "", wrong("length_penalty", "a number from -100 to 100")
		}
	}
	switch v := generation["early_stopping"].(type) {
	case nil:
	case bool:
		r.early = v
	default:
		if r.never = v == "never"; !r.never {
			return r, "", wrong("early_stopping", "true, false or \"never\"")
		}
	}
	if n, ok := generation["num_beams"].(json.Number); ok && n != "1" {
		remark = fmt.Sprintf("generation_config.json asks for %.20s beams; the most probable "+
			"token is taken each time unless beams are asked for", n)
	}
	return r, remark, nil
}

// beam is a text of a search: what was generated of it, and the sum of its log-probabilities, for a
// text that has ended divided by its length.
type beam struct {
	ids   []int
	score float64
}

// search returns what a search with beams generates after ids, as generate of transformers 5 does.
// Each beam has a session of its own. A session that goes on with the text of another beam is cut
// back to what the two have in common.
//
// Of all texts of the running beams with one more token, the (1+e)·B best by the sum of their
// log-probabilities are taken, with e end-of-text tokens and B beams. The B best of them that have
// not ended run on. Those among the first B that have ended count with their score: the sum divided
// by n^penalty for the n tokens of the target. The search ends when no running beam could become
// better than the worst of B texts that have ended.
func (m *Model) search(ctx context.Context, ids []int, ask trace.Ask) ([]int, error) {
	beams, room := ask.Sampling.Beams, roomFor(len(ids), ask.MaxTokens)
	if err := m.memory.Check(float64(m.BatchBytes(trace.Ask{}, beams, room)),
		fmt.Sprintf("a search with %d beams", beams), "take fewer beams or a shorter text",
	); err != nil {
		return nil, err
	}
	sessions := make([]*beamSession, beams)
	for i := range sessions {
		session, err := m.newSession(trace.Ask{Edits: ask.Edits}, room)
		if err != nil {
			return nil, err
		}
		defer session.Close()
		sessions[i] = &beamSession{session: session}
	}
	forced := 0
	if at := m.info.TargetBegin(ids); m.spec.Encoder > 0 {
		forced = len(ids) - at - 1
	}
	rules := m.beams
	score := func(sum float64, n int) float64 {
		return sum / math.Pow(float64(n+forced), rules.penalty)
	}
	better := func(a, b beam) int { return cmp.Compare(b.score, a.score) }
	keep := max(2, 1+len(m.ends)) * beams
	running, ended := []beam{{}}, []beam(nil)
	for n := 1; ; n++ {
		var candidates []beam
		for i, b := range running {
			logits, err := sessions[i].after(ctx, ids, b.ids)
			if err != nil {
				return nil, err
			}
			if err := m.checkLogits(logits); err != nil {
				return nil, trace.Edited(ask.Edits, err)
			}
			top, sum := rowmath.SoftmaxSum(logits)
			for _, id := range mostProbable(softmax(logits), keep) {
				candidates = append(candidates, beam{
					append(slices.Clone(b.ids), id),
					b.score + float64(logits[id]) - top - math.Log(sum),
				})
			}
		}
		slices.SortStableFunc(candidates, better)
		running = nil
		for rank, b := range candidates[:min(keep, len(candidates))] {
			switch last := b.ids[n-1]; {
			case !m.ends[last] && n < ask.MaxTokens:
				running = append(running, b)
			case rank < beams:
				ended = append(ended, beam{b.ids, score(b.score, n)})
			}
		}
		slices.SortStableFunc(ended, better)
		ended, running = ended[:min(beams, len(ended))], running[:min(beams, len(running))]
		full := len(ended) == beams
		if len(running) == 0 || full && rules.early {
			break
		}
		length := n
		if rules.never && rules.penalty > 0 {
			length = ask.MaxTokens
		}
		if full && score(running[0].score, length) <= ended[beams-1].score {
			break
		}
	}
	return ended[0].ids, nil
}

// beamSession is the session of a beam.
type beamSession struct {
	session *transformer.Session
	ids     []int // generated
}

// after returns the logits after a prompt and the generated ids, of which it reads those that the
// session has not read in this place.
func (s *beamSession) after(ctx context.Context, prompt, ids []int) (logits []float32, err error) {
	common := 0
	for common < min(len(ids)-1, len(s.ids)) && ids[common] == s.ids[common] {
		common++
	}
	if s.session.Length() == 0 || len(ids) == 0 {
		out, err := s.session.Prompt(ctx, prompt, nil)
		if err != nil {
			return nil, err
		}
		logits = out.Logits
	}
	if err := s.session.Cut(len(prompt) + common); err != nil {
		return nil, err
	}
	for _, id := range ids[common:] {
		out, err := s.session.Step(ctx, id)
		if err != nil {
			return nil, err
		}
		logits = out.Logits
	}
	s.ids = slices.Clone(ids)
	return logits, nil
}
