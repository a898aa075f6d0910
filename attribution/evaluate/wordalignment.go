package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Translation is a text for a model of two stacks, and what it should write for it. Words are
// separated by spaces and count from 0.
type Translation struct {
	Source, Target string
	// Sure are the links between a word of the target and the words of the source that it
	// translates, {target, source}. Possible are other links that are not wrong, such as those to a
	// word that a word of the target agrees with.
	Sure, Possible [][2]int
	// Changes are, for each word of the target, changes of the source that prove which words of it
	// decide that word, as in a [Case]: the spans with an Answer are its evidence. The words of the
	// target before it stay as they are, and the answer is right after them. Nil, or empty for a
	// word, if nothing is to be proven.
	Changes [][]Change
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

// WordReport is how well methods link the words of translations with those of their sources, the
// lowest error rate first. Proofs and Refuted are those of [Report], of words of targets and not of
// cases; empty without [Translation.Changes].
type WordReport struct {
	Methods []WordAlignment `json:"methods"`
	Proofs  []Proofs        `json:"proofs,omitempty"`
	Refuted []Refuted       `json:"refuted,omitempty"`
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
	// Recall is the share of the proven evidence of a translation's words that the method finds,
	// over translations: of a word that k words of the source decide, those among the k that have
	// most of its row. Translations without proven evidence are skipped.
	Recall Summary `json:"recall"`
}

// SamePlaceLine is the name of the alignment that links each word of a target with the word of the
// source that has the same number.
const SamePlaceLine = "same place"

// AlignWords measures methods by [AlignmentErrorRate] and by the recall of evidence that the model
// itself proves, and [SamePlaceLine] with them. It explains each target as a continuation of its
// source and links each word of it with a word of the source, as [attribution.Link] does; scores of
// several tokens of a word are added. Control tokens have no part in it.
//
// Methods of one layer are measured in the layer that is best on the translations of choose, which
// should be others; without any, on those of score. Of the options it reads Methods, Explain, Least
// and OnProgress. A translation without a sure link or with one outside of its words is a
// [trace.UsageError], and so is a span outside of its source.
func AlignWords(
	ctx context.Context, m trace.Model, choose, score []Translation, opts Options,
) (*WordReport, error) {
	if len(score) == 0 {
		return nil, trace.Usagef("there are no translations to align")
	}
	if m.Info().Boundary() < 0 {
		return nil, trace.Usagef("%s has one stack, and words are aligned with those of a source: "+
			"name a model of two stacks", m.Info().Name)
	}
	opts.Methods = opts.methods(m.Info())
	x := &wordAligner{Options: opts, m: m}
	measured := func(which []Translation, begun int) error {
		x.rates, x.recalls = map[string]map[int][]float64{}, map[string]map[int][]float64{}
		for i, t := range which {
			if err := x.align(ctx, t); err != nil {
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
	for method, byLayer := range x.rates {
		layers[method] = lowest(byLayer)
	}
	x.proves = true
	if err := measured(score, len(choose)); err != nil {
		return nil, err
	}
	r := &WordReport{Refuted: x.refuted}
	for _, method := range append(slices.Clone(opts.Methods), SamePlaceLine) {
		layer, chosen := layers[method]
		if !chosen {
			layer = lowest(x.rates[method])
		}
		a := WordAlignment{
			Method: method, Layer: layer, ErrorRate: Summarize(x.rates[method][layer]),
			Recall: Summarize(x.recalls[method][layer]),
		}
		if layer >= 0 {
			a.LayerName = m.Info().LayerName(layer)
		}
		r.Methods = append(r.Methods, a)
	}
	slices.SortStableFunc(r.Methods, func(a, b WordAlignment) int {
		return cmp.Compare(a.ErrorRate.Mean, b.ErrorRate.Mean)
	})
	if len(x.proofs) > 0 {
		r.Proofs = []Proofs{proofsOf("words", x.proofs)}
	}
	return r, nil
}

// lowest returns the layer with the lowest mean, the first of equal ones.
func lowest(byLayer map[int][]float64) int {
	layers := slices.Sorted(maps.Keys(byLayer))
	return slices.MinFunc(layers, func(a, b int) int {
		return cmp.Compare(mean(byLayer[a]), mean(byLayer[b]))
	})
}

// wordAligner measures one translation after the other.
type wordAligner struct {
	Options
	m      trace.Model
	proves bool
	// rates and recalls have a number for each translation, by method and layer.
	rates, recalls map[string]map[int][]float64
	proofs         []*Result // of words of targets
	refuted        []Refuted
}

// align adds the numbers of one translation.
func (x *wordAligner) align(ctx context.Context, t Translation) error {
	words := [2]int{len(strings.Fields(t.Target)), len(strings.Fields(t.Source))}
	if err := t.check(words); err != nil {
		return err
	}
	opts := x.Explain
	opts.Methods, opts.AllLayers = x.Methods, true
	opts.MaxTokens, opts.Continuation, opts.Contrast = 0, " "+t.Target, ""
	opts.OnStep, opts.OnProgress, opts.By, opts.Target = nil, nil, "", ""
	e, err := attribution.Explain(ctx, x.m, t.Source, opts)
	if err != nil {
		return err
	}
	sources, targets := sourceWords(e.Prompt, t.Source), targetWords(e.Steps)
	var evidence [][]int
	if x.proves {
		if evidence, err = x.prove(ctx, t, e, targets); err != nil {
			return err
		}
	}
	add := func(method string, layer int, scores []float64) {
		if x.rates[method] == nil {
			x.rates[method], x.recalls[method] = map[int][]float64{}, map[int][]float64{}
		}
		x.rates[method][layer] = append(x.rates[method][layer],
			AlignmentErrorRate(links(scores, words), t.Sure, t.Possible))
		x.recalls[method][layer] = append(x.recalls[method][layer],
			recall(scores, words, evidence))
	}
	for _, name := range x.Methods {
		r := e.Methods[name]
		if !oneLayer(name) {
			add(name, -1, wordScores(r, -1, sources, targets, words))
			continue
		}
		for k, layer := range r.Layers {
			add(name, layer, wordScores(r, k, sources, targets, words))
		}
	}
	same := make([]float64, words[0]*words[1])
	for i := range min(words[0], words[1]) {
		same[i*words[1]+i] = 1
	}
	add(SamePlaceLine, -1, same)
	return nil
}

// check returns a usage error for links and changes outside of the words.
func (t Translation) check(words [2]int) error {
	if len(t.Sure) == 0 {
		return trace.Usagef("the translation %.60q has no sure link to compare with", t.Target)
	}
	for _, link := range slices.Concat(t.Sure, t.Possible) {
		if link[0] < 0 || link[0] >= words[0] || link[1] < 0 || link[1] >= words[1] {
			return trace.Usagef("the link %v of the translation %.60q: the target has %d words "+
				"and the source %d, which count from 0", link, t.Target, words[0], words[1])
		}
	}
	if len(t.Changes) > words[0] {
		return trace.Usagef("the translation %.60q has %d words, and %d have changes", t.Target,
			words[0], len(t.Changes))
	}
	for word, changes := range t.Changes {
		for _, c := range changes {
			err := checkSpan(c.Span, t.Source)
			if err == nil && wordsIn(t.Source, c.Span) == nil {
				err = fmt.Errorf("bytes %d to %d of the source are white space; name a word",
					c.Span[0], c.Span[1])
			}
			if err != nil {
				return trace.Usagef("a change for word %d of the translation %.60q: %v", word,
					t.Target, err)
			}
		}
	}
	return nil
}

// prove tries the changes of each word of a target and returns the words of the source that are
// proven to decide it; none where nothing is proven.
func (x *wordAligner) prove(
	ctx context.Context, t Translation, e *attribution.Explanation, targets []int,
) (evidence [][]int, err error) {
	evidence = make([][]int, len(t.Changes))
	for word, changes := range t.Changes {
		step := slices.Index(targets, word)
		if len(changes) == 0 || step < 0 {
			continue
		}
		c := Case{Prompt: t.Source, Continuation: e.Steps[step].Text, Changes: changes}
		var words []int
		for _, change := range changes {
			if change.Answer != "" {
				c.Evidence = append(c.Evidence, change.Span)
				words = append(words, wordsIn(t.Source, change.Span)...)
			}
		}
		p, err := x.prover(x.m, c, e, step)
		if err != nil {
			return nil, err
		}
		proof, err := p.prove(ctx)
		if err != nil {
			return nil, fmt.Errorf("word %d of the translation: %w", word, err)
		}
		x.proofs = append(x.proofs, &Result{Proof: proof})
		if proof.Proven() {
			slices.Sort(words)
			evidence[word] = slices.Compact(words)
			continue
		}
		x.refuted = append(x.refuted, Refuted{
			Prompt: fmt.Sprintf("%s → %s", t.Source, strings.Join(
				strings.Fields(t.Target)[:word+1], " ")),
			Reason: proof.Reason,
		})
	}
	return evidence, nil
}

// wordScores returns the scores of each word of the source for each word of the target, row-major,
// at a level of a method, or at the level of each token that a picture shows if k is negative.
func wordScores(
	r *attribution.Result, k int, sources, targets []int, words [2]int,
) []float64 {
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
	return scores
}

// links returns the link of each word of the target.
func links(scores []float64, words [2]int) [][2]int {
	var found [][2]int
	for target := range words[0] {
		if at := attribution.Link(scores[target*words[1]:][:words[1]]); at >= 0 {
			found = append(found, [2]int{target, at})
		}
	}
	return found
}

// recall returns the share of the evidence, words of the source by word of the target, that is
// found: of a target word with k pieces of evidence, those among the k largest scores above 0. The
// earliest of equal scores comes first. It is NaN without evidence.
func recall(scores []float64, words [2]int, evidence [][]int) float64 {
	found, all := 0, 0
	for target, pieces := range evidence {
		row := scores[target*words[1]:][:words[1]]
		for _, j := range rowmath.Falling(row, nil)[:len(pieces)] {
			if row[j] > 0 && slices.Contains(pieces, j) {
				found++
			}
		}
		all += len(pieces)
	}
	return float64(found) / float64(all) // 0/0 is NaN
}

// sourceWords returns the word of the text that each token of the prompt belongs to, -1 for a
// control token.
func sourceWords(p attribution.Prompt, text string) []int {
	words := make([]int, len(p.IDs))
	for j, o := range p.Offsets {
		words[j] = -1
		if touched := wordsIn(text, o); touched != nil && !p.Special[j] {
			words[j] = touched[0]
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
	if last, _ := utf8.DecodeLastRuneInString(before); before != "" && !unicode.IsSpace(last) {
		n--
	}
	return n
}

// wordsIn returns the words of a text that a span touches; none if it is white space.
func wordsIn(text string, span [2]int) (words []int) {
	piece := text[span[0]:span[1]]
	first := wordAt(text, span[1]-len(strings.TrimLeftFunc(piece, unicode.IsSpace)))
	for i := range strings.Fields(piece) {
		words = append(words, first+i)
	}
	return words
}

// String returns the name of the method, with its layer if it has one.
func (a WordAlignment) String() string {
	if a.Layer < 0 {
		return a.Method
	}
	return a.Method + ", " + a.LayerName
}
