package render

import (
	"math"
	"strings"
)

// mass is where the row of a generated token rests.
type mass struct {
	sink, prompt, generated float64
}

// mass returns the parts of row t at the highlighted level; generated is NaN if the explanation
// does not say.
func (v *view) mass(t int) mass {
	w := mass{generated: math.NaN()}
	for j, sink := range v.sinks {
		if sink {
			w.sink += v.at(t, j)
			continue
		}
		w.prompt += v.at(t, j)
	}
	if i := t*v.result.Shape[2] + v.level; i < len(v.other) {
		w.generated = v.other[i]
	}
	return w
}

// sinkNames lists the sinks of row t with their values: "<bos> 61.0 %".
func (v *view) sinkNames(p *picture, t int) string {
	var names []string
	for j, sink := range v.sinks {
		if sink {
			names = append(names, tokenName(p.e.Prompt.Texts[j])+" "+v.top.sum(v.at(t, j)))
		}
	}
	return strings.Join(names, ", ")
}

// rests lists where a row of shares rests, the whole of it if it is divided, and how much its k
// strongest tokens hold.
func (p *picture) rests(v *view, t, k int) (whole bool, parts []string) {
	w, sinks, held := v.mass(t), v.sinkNames(p, t), v.held(p, t, k)
	if !p.divided(sinks) {
		if held != "" {
			parts = append(parts, held)
		}
		return false, parts
	}
	if sinks != "" {
		parts = append(parts, "sink "+sinks)
	}
	prompt := p.promptName(sinks) + " " + v.top.sum(w.prompt)
	if held != "" {
		prompt += " (" + held + ")"
	}
	parts = append(parts, prompt)
	if !math.IsNaN(w.generated) && !p.e.Model.Bidirectional {
		parts = append(parts, "generated tokens "+v.top.sum(w.generated))
	}
	return true, parts
}

// promptName names the text that was given without its sinks.
func (p *picture) promptName(sinks string) string {
	if sinks == "" {
		return p.words.text
	}
	return "rest of the " + p.words.text
}

// divided reports whether a row of shares has parts to name: sinks, or what rests on generated
// tokens. All of an encoder's row rests on its text.
func (p *picture) divided(sinks string) bool { return sinks != "" || !p.e.Model.Bidirectional }
