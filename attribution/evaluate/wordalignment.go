package evaluate

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// Translation is a text for a model of two stacks, and what it should write for it. Words are
// separated by spaces and count from 0.
type Translation struct {
	Source, Target string
	// Sure are the links between a word of the target and the words of the source that it
	// translates, {target, source}. Possible are other links that are not wrong, such as those to a
	// word that a word of the target agrees with.
	Sure, Possible [][2]int
}

// AlignmentErrorRate is how far links are from those that are known (Och and Ney 2003, §5.3), A
// being the links found, S the sure ones and P the sure and the possible ones:
//
//	AER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|)
//
// It is 0 if all sure links are found and no link is wrong, and 1 if every link is wrong. It is NaN
// without any link. Links that are repeated count once.
func AlignmentErrorRate(found, sure, possible [][2]int) float64 {
	set := func(links ...[][2]int) map[[2]int]bool {
		all := map[[2]int]bool{}
		for _, l := range slices.Concat(links...) {
			all[l] = true
		}
		return all
	}
	a, s, p := set(found), set(sure), set(sure, possible)
	hits := 0
	for link := range a {
		if s[link] {
			hits++
		}
		if p[link] {
			hits++
		}
	}
	return 1 - float64(hits)/float64(len(a)+len(s)) // 0/0 is NaN
}

// WordAlignment is how well a method links the words of translations with those of their sources.
type WordAlignment struct {
	Method string `json:"method"`
	// Layer is the layer of a method of one layer, -1 for other methods; LayerName is its name, see
	// [trace.Info.LayerName].
	Layer     int    `json:"layer"`
	LayerName string `json:"layer_name,omitempty"`
	// ErrorRate is the alignment error rate, over translations.
	ErrorRate Summary `json:"alignment_error_rate"`
}

// SamePlaceLine is the name of the alignment that links each word of a target with the word of the
// source that has the same number.
const SamePlaceLine = "same place"

// AlignWords measures methods by [AlignmentErrorRate], the lowest first, and [SamePlaceLine] with
// them. It explains each target as a continuation of its source and links each word of it with a
// word of the source, as [attribution.Link] does; scores of several tokens of a word are added.
// Control tokens have no part in it.
//
// Methods of one layer are measured in the layer that is best on the translations of choose, which
// should be others; without any, on those of score. Of the options it reads Methods, Explain and
// OnProgress. A translation without a sure link or with one outside of its words is a
// [trace.UsageError].
func AlignWords(
	ctx context.Context, m trace.Model, choose, score []Translation, opts Options,
) ([]WordAlignment, error) {
	if len(score) == 0 {
		return nil, trace.Usagef("there are no translations to align")
	}
	if m.Info().Boundary() < 0 {
		return nil, trace.Usagef("%s has one stack, and words are aligned with those of a source: "+
			"name a model of two stacks", m.Info().Name)
	}
	opts.Methods = opts.methods(m.Info())
	rates := map[string]map[int][]float64{} // by method and layer
	measured := func(which []Translation, begun int) error {
		clear(rates)
		for i, t := range which {
			if err := opts.alignWords(ctx, m, t, rates); err != nil {
				return pkg.Errorf("translation %d of %d: %w", i, len(which), err)
			}
			if opts.OnProgress != nil {
				opts.OnProgress(trace.Progress{
					Stage: "aligning words", Unit: "sentence", Done: begun + i + 1,
					Total: len(choose) + len(score),
				})
			}
		}
		return nil
	}
	if err := measured(choose, 0); err != nil {
		return nil, err
	}
	layers := map[string]int{}
	for method, byLayer := range rates {
		layers[method] = lowest(byLayer)
	}
	if err := measured(score, len(choose)); err != nil {
		return nil, err
	}
	var all []WordAlignment
	for _, method := range append(slices.Clone(opts.Methods), SamePlaceLine) {
		layer, chosen := layers[method]
		if !chosen {
			layer = lowest(rates[method])
		}
		a := WordAlignment{Method: method, Layer: layer, ErrorRate: Summarize(rates[method][layer])}
		if layer >= 0 {
			a.LayerName = m.Info().LayerName(layer)
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b WordAlignment) int {
		return cmp.Compare(a.ErrorRate.Mean, b.ErrorRate.Mean)
	})
	return all, nil
}

// lowest returns the layer with the lowest mean, the first of equal ones.
func lowest(byLayer map[int][]float64) int {
	layers := slices.Sorted(maps.Keys(byLayer))
	return slices.MinFunc(layers, func(a, b int) int {
		return cmp.Compare(mean(byLayer[a]), mean(byLayer[b]))
	})
}

// alignWords adds the error rates of one translation.
func (o Options) alignWords(
	ctx context.Context, m trace.Model, t Translation, rates map[string]map[int][]float64,
) error {
	words := [2]int{len(strings.Fields(t.Target)), len(strings.Fields(t.Source))}
	if len(t.Sure) == 0 {
		return trace.Usagef("the translation %.60q has no sure link to compare with", t.Target)
	}
	for _, link := range slices.Concat(t.Sure, t.Possible) {
		if link[0] < 0 || link[0] >= words[0] || link[1] < 0 || link[1] >= words[1] {
			return trace.Usagef("the link %v of the translation %.60q: the target has %d words "+
				"and the source %d, which count from 0", link, t.Target, words[0], words[1])
		}
	}
	opts := o.Explain
	opts.Methods, opts.AllLayers = o.Methods, true
	opts.MaxTokens, opts.Continuation, opts.Contrast = 0, " "+t.Target, ""
	opts.OnStep, opts.OnProgress, opts.By, opts.Target = nil, nil, "", ""
	e, err := attribution.Explain(ctx, m, t.Source, opts)
	if err != nil {
		return err
	}
	sources, targets := sourceWords(e.Prompt, t.Source), targetWords(e.Steps)
	add := func(method string, layer int, found [][2]int) {
		if rates[method] == nil {
			rates[method] = map[int][]float64{}
		}
		rates[method][layer] = append(rates[method][layer],
			AlignmentErrorRate(found, t.Sure, t.Possible))
	}
	for _, name := range o.Methods {
		r := e.Methods[name]
		if !oneLayer(name) {
			add(name, -1, links(r, -1, sources, targets, words))
			continue
		}
		for k, layer := range r.Layers {
			add(name, layer, links(r, k, sources, targets, words))
		}
	}
	var same [][2]int
	for i := range min(words[0], words[1]) {
		same = append(same, [2]int{i, i})
	}
	add(SamePlaceLine, -1, same)
	return nil
}

// links returns the link of each word of the target at a level of a method, or at the level of each
// token that a picture shows if k is negative.
func links(r *attribution.Result, k int, sources, targets []int, words [2]int) [][2]int {
	scores := make([]float64, words[0]*words[1])
	for t, target := range targets {
		level := k
		if k < 0 {
			level = r.Level(t)
		}
		for j, source := range sources {
			if target >= 0 && source >= 0 {
				scores[target*words[1]+source] += r.Row(t, level)[j]
			}
		}
	}
	var found [][2]int
	for target := range words[0] {
		if at := attribution.Link(scores[target*words[1]:][:words[1]]); at >= 0 {
			found = append(found, [2]int{target, at})
		}
	}
	return found
}

// sourceWords returns the word of the text that each token of the prompt belongs to, -1 for a
// control token.
func sourceWords(p attribution.Prompt, text string) []int {
	words := make([]int, len(p.IDs))
	for j, o := range p.Offsets {
		words[j] = -1
		if piece := strings.TrimSpace(text[o[0]:o[1]]); piece != "" && !p.Special[j] {
			first := o[0] + strings.Index(text[o[0]:o[1]], piece)
			words[j] = wordAt(text, first)
		}
	}
	return words
}

// targetWords returns the word of the generated text that each token belongs to, -1 for a control
// token or white space.
func targetWords(steps []attribution.GeneratedToken) []int {
	words, text := make([]int, len(steps)), ""
	for i, s := range steps {
		words[i] = -1
		first := len(text) + len(s.Text) - len(strings.TrimLeftFunc(s.Text, unicode.IsSpace))
		text += s.Text
		if !s.Special && strings.TrimSpace(s.Text) != "" {
			words[i] = wordAt(text, first)
		}
	}
	return words
}

// wordAt returns the number of the word that byte at of a text, which is no space, belongs to.
func wordAt(text string, at int) int {
	before := text[:at]
	n := len(strings.Fields(before))
	if before != "" && !unicode.IsSpace(rune(before[len(before)-1])) {
		n--
	}
	return n
}

// String returns the name of the method, with its layer if it has one.
func (a WordAlignment) String() string {
	if a.Layer < 0 {
		return a.Method
	}
	return a.Method + ", " + a.LayerName
}
