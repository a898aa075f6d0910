package render

import (
	"math"
	"strings"
)

// rowParts has the sums of a row over three groups of tokens: sinks, the other prompt tokens, and
// generated tokens.
type rowParts struct {
	sink, prompt, generated float64
}

// rowParts returns the parts of row t at the highlighted level; generated is NaN if the explanation
// does not have it.
func (v *view) rowParts(t int) rowParts {
	w := rowParts{generated: math.NaN()}
	for j := range v.sinks {
		if v.sink(t, j) {
			w.sink += v.at(t, j)
			continue
		}
		w.prompt += v.at(t, j)
	}
	if i := t*v.result.Shape[2] + v.level(t); i < len(v.result.OtherMass) {
		w.generated = v.result.OtherMass[i]
	}
	return w
}

// sum returns the sum of the values of all tokens in row t, Σ_j s_j; NaN if some are not known.
func (v *view) sum(t int) float64 {
	w := v.rowParts(t)
	return w.sink + w.prompt + w.generated
}

// sinkNames lists the sinks with their values in row t: "<bos> 61.0 %".
func (v *view) sinkNames(p *picture, t int) string {
	var names []string
	for j := range v.sinks {
		if v.sink(t, j) {
			names = append(names, tokenName(p.spanText(j))+" "+v.top.sum(v.at(t, j)))
		}
	}
	return strings.Join(names, ", ")
}

// describeParts lists the parts of row t of shares, and how much of it the k largest values have.
// whole says that the parts listed are the whole row.
func (p *picture) describeParts(v *view, t, k int) (whole bool, parts []string) {
	w, sinks, topShare := v.rowParts(t), v.sinkNames(p, t), v.topShare(p, t, k)
	if sinks != "" {
		parts = append(parts, "sink "+sinks)
	}
	if !p.hasParts(sinks) || v.oneStack() {
		return false, append(parts, nonEmpty(topShare)...)
	}
	generated := w.generated
	if at := p.targetBegin; at >= 0 && !v.sink(t, at) { // it belongs to the target
		w.prompt, generated = w.prompt-v.at(t, at), generated+v.at(t, at)
	}
	prompt := p.promptName(v, t) + " " + v.top.sum(w.prompt)
	apart := k > 0 && v.sources(t) > len(v.sinks) // generated tokens are among the largest
	if topShare != "" && !apart {
		prompt += " (" + topShare + ")"
	}
	parts = append(parts, prompt)
	if !math.IsNaN(generated) && !p.e.Model.Reads() {
		parts = append(parts, p.words.before+" "+v.top.sum(generated))
	}
	if of := v.fromSource(t); of != "" && sinks != "" {
		parts = append(parts, of)
	}
	if topShare != "" && apart {
		parts = append(parts, topShare)
	}
	return true, parts
}

// fromSource returns the source contribution of row t, "" if it is not known.
func (v *view) fromSource(t int) string {
	if of := v.sourceShare(t); of != "" {
		return "source contribution " + of
	}
	return ""
}

// sourceShare returns the number of [view.fromSource].
func (v *view) sourceShare(t int) string {
	if t >= len(v.contribution) || math.IsNaN(v.contribution[t]) {
		return ""
	}
	return share(v.contribution[t])
}

// oneStack reports whether the layer shown of a model of two stacks is a self-attention or a
// crossing alone, which reads from one of its texts, whatever the row is about.
func (v *view) oneStack() bool { return v.model.EncoderLayers > 0 && !v.result.Combined }

// promptName names the given text, without its sinks in row t.
func (p *picture) promptName(v *view, t int) string {
	for j := range v.sinks {
		if j != p.targetBegin && v.sink(t, j) {
			return "rest of the " + p.words.text
		}
	}
	return p.words.text
}

// hasParts reports whether a row of shares has several parts: there are sinks, or the model is a
// decoder, so that generated tokens have a part. Without sinks, an encoder's whole row is on its
// text.
func (p *picture) hasParts(sinks string) bool { return sinks != "" || !p.e.Model.Reads() }
