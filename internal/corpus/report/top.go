package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/corpus"
)

// What a picture of a text shows at most; longer texts are cut around the token that they are
// listed for.
const (
	maxPrompt    = 300
	maxGenerated = 32
	tokenWidth   = 24 // columns
	fullShare    = 64*64 - 1
)

// listed is a text of the list.
type listed struct {
	Share  float64
	file   string
	number int64

	ID, Begin   string // as the page shows them
	Predicted   string // the generated token with that share, and its probability
	Probability float64
	picture     picture
}

// better sorts by share, and equal shares by the order of the input.
func better(a, b *listed) int {
	return cmp.Or(cmp.Compare(b.Share, a.Share), strings.Compare(a.file, b.file),
		cmp.Compare(a.number, b.number))
}

// topTexts are the best texts, the best first.
type topTexts struct {
	limit int
	all   []*listed
}

// add keeps a text if it is among the best; fill is called for such a text alone.
func (t *topTexts) add(x *listed, fill func(*listed)) {
	at, _ := slices.BinarySearchFunc(t.all, x, better)
	if at == t.limit {
		return
	}
	fill(x)
	t.all = slices.Insert(t.all[:min(len(t.all), t.limit-1)], at, x)
}

// rank adds a text to the list, by the generated token of which most comes from the chosen words,
// or from one prompt token.
func (s *scan) rank(r corpus.Record, result *corpus.Result, rest []int) {
	m := len(result.PromptIDs)
	var marked []int
	perWord := make([][]int, len(s.words))
	for i := range s.words {
		perWord[i] = tokensOf(s.words[i].Text, result)
		marked = append(marked, perWord[i]...)
		if len(perWord[i]) > 0 {
			s.words[i].Texts++
		}
	}
	slices.Sort(marked)
	marked = slices.Compact(marked)
	if len(s.words) > 0 && len(marked) == 0 || len(s.words) == 0 && len(rest) == 0 {
		return
	}
	row := make([]float64, m)
	best, chosen, focus := -1.0, -1, 0
	for t := range result.IDs {
		if _, ok := shares(row, &result.Methods[s.lead], t); !ok {
			continue
		}
		at, share := 0, 0.0
		if len(s.words) == 0 {
			at = strongest(row, rest)
			share = row[at]
		} else {
			at, share = marked[0], sumOf(row, marked)
		}
		for i, tokens := range perWord {
			if len(tokens) > 0 {
				x := sumOf(row, tokens)
				s.words[i].Shares.add(x)
				s.words[i].largest = max(s.words[i].largest, x)
			}
		}
		if share > best {
			best, chosen, focus = share, t, at
		}
	}
	if chosen < 0 {
		return
	}
	s.top.add(&listed{Share: best, file: r.File, number: r.Number}, func(x *listed) {
		x.ID = render.Visible(r.ID, 60)
		x.Begin = render.Visible(result.Text, 120)
		x.Predicted = pictureTokenOf(result.Texts[chosen]).text
		x.Probability = result.Probability[chosen]
		x.picture = s.pictureOf(result, chosen, focus, rest, marked)
	})
}

func sumOf(row []float64, tokens []int) (sum float64) {
	for _, j := range tokens {
		sum += row[j]
	}
	return sum
}

// picture is a text with the shares of its prompt tokens, cut to what is shown.
type picture struct {
	prompt, generated []pictureToken
	// before and after count the prompt tokens that were cut, earlier and later the generated ones.
	before, after, earlier, later int
	chosen                        int // the generated token that is shown first
	// shares is [n,m] in units of 1/fullShare; scale is the one with the deepest colour.
	shares []uint16
	scale  uint16
}

// pictureToken is a token as the page shows it.
type pictureToken struct {
	text           string
	spaced         bool // a space comes before it
	sink, marked   bool
	probability    float64
	fromGenerated  float64
	withoutNumbers bool // of a generated token: there is nothing to divide
}

// window returns the part of n tokens, at most limit, around one of them.
func window(n, limit, around int) (from, to int) {
	from = min(max(around-limit/2, 0), max(n-limit, 0))
	return from, min(from+limit, n)
}

// pictureOf cuts a text to what its picture shows.
func (s *scan) pictureOf(
	result *corpus.Result, chosen, focus int, rest, marked []int,
) picture {
	n, m := len(result.IDs), len(result.PromptIDs)
	j0, j1 := window(m, maxPrompt, focus)
	t0, t1 := window(n, maxGenerated, chosen)
	p := picture{
		before: j0, after: m - j1, earlier: t0, later: n - t1, chosen: chosen - t0, scale: 1,
	}
	for j := j0; j < j1; j++ {
		_, counts := slices.BinarySearch(rest, j)
		_, mark := slices.BinarySearch(marked, j)
		p.prompt = append(p.prompt, pictureTokenOf(result.PromptTexts[j]))
		last := &p.prompt[len(p.prompt)-1]
		last.marked, last.sink = mark, !counts && !mark
	}
	x := &result.Methods[s.lead]
	row := make([]float64, m)
	for t := t0; t < t1; t++ {
		token := pictureTokenOf(result.Texts[t])
		token.probability = result.Probability[t]
		prompt, ok := shares(row, x, t)
		if !ok {
			clear(row)
			token.withoutNumbers = true
		} else {
			token.fromGenerated = 1 - prompt
		}
		p.generated = append(p.generated, token)
		for j := j0; j < j1; j++ {
			v := uint16(math.Round(row[j] * fullShare))
			p.shares = append(p.shares, v)
			if !p.prompt[j-j0].sink {
				p.scale = max(p.scale, v)
			}
		}
	}
	return p
}

// pictureTokenOf returns a token with the space before it apart.
func pictureTokenOf(text string) pictureToken {
	spaced := len(text) > 1 && text[0] == ' ' && text[1] != ' '
	if spaced {
		text = text[1:]
	}
	return pictureToken{text: render.Visible(text, tokenWidth), spaced: spaced}
}
