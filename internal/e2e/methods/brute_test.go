package methods

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
)

// bruteKinds are a golden of every kind of family: rotary positions, with biases and without,
// ALiBi, a norm after the block, blocks in parallel, windows, learned positions, experts and sinks.
var bruteKinds = []string{
	"llama", "qwen2", "bloom", "falcon_rw", "opt_350", "bert", "gpt_neox", "falcon7", "mistral",
	"gemma3", "gpt2", "mixtral", "gpt_oss",
}

// Two computations in float32 of the same numbers, such as on a cache and in one pass, differ by
// rounding: worst seen 5e-7 of the largest.
const bruteTol = 1e-5

// asked is a model with a mask for encoders, which keeps what it is asked to predict.
type asked struct {
	*models.Model
	queries *[]trace.Query
}

const maskID = 4

func (m asked) Replacement(kind string) (int, bool) {
	return maskID, kind == "mask" && m.Info().Bidirectional
}

func (m asked) Predict(ctx context.Context, queries []trace.Query) ([]float64, error) {
	*m.queries = append(*m.queries, queries...)
	return m.Model.Predict(ctx, queries)
}

// probabilities returns the softmax of the logits of each position of a text, [T][V], from one pass
// that records them, in float64.
func (m asked) probabilities(t *testing.T, ids []int) (p, logits [][]float64) {
	t.Helper()
	ts, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Logits})
	must(t, err)
	for row := range slices.Chunk(ts[0].Data, ts[0].Shape[1]) {
		sum, z, q := 0.0, make([]float64, len(row)), make([]float64, len(row))
		for v, x := range row {
			z[v] = float64(x)
			sum += math.Exp(z[v])
		}
		for v := range q {
			q[v] = math.Exp(z[v]) / sum
		}
		p, logits = append(p, q), append(logits, z)
	}
	return p, logits
}

// plausible returns what may stand at place j of a text, by falling probability, and how probable
// each is; nothing at a decoder's first place and at the position of the question.
func (m asked) plausible(t *testing.T, q trace.Query, j int) (ids []int, p []float64) {
	t.Helper()
	text, at := slices.Clone(q.IDs), j-1
	if m.Info().Bidirectional {
		if j == q.Position {
			return nil, nil
		}
		text[j], at = maskID, j
	}
	if at < 0 {
		return nil, nil
	}
	all, _ := m.probabilities(t, text)
	for v := range all[at] {
		ids = append(ids, v)
	}
	slices.SortStableFunc(ids, func(a, b int) int {
		return int(math.Copysign(1, all[at][b]-all[at][a]))
	})
	ids = ids[:32]
	ids = slices.DeleteFunc(ids, func(id int) bool { return id == q.IDs[j] })
	for _, id := range ids {
		p = append(p, all[at][id])
	}
	return ids, p
}

// eachKind runs do on the goldens of bruteKinds with a question about a logit.
func eachKind(t *testing.T, do func(t *testing.T, m asked, q trace.Query)) {
	for _, name := range bruteKinds {
		t.Run(name, func(t *testing.T) {
			m := asked{fixture.Open(t, filepath.Join("..", "..", "..", "models", "testdata",
				"goldens", name), "go"), new([]trace.Query)}
			q := trace.Query{IDs: []int{9, 31, 17, 40, 8, 31, 26, 12, 23}}
			q.Quantity, q.Position, q.Token = trace.Logit, len(q.IDs)-1, 12
			if m.Info().Bidirectional {
				q.Position = 3
			}
			do(t, m, q)
		})
	}
}

// scored returns what a scorer says.
func scored(
	t *testing.T, name string, m trace.Model, q trace.Query, opts scorer.Options,
) *scorer.Scores {
	t.Helper()
	s, err := scorer.Lookup(name)
	must(t, err)
	scores, err := s.Score(t.Context(), m, q, opts)
	must(t, err)
	return scores
}

// alike compares numbers relative to the largest and 1.
func alike(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	largest := 1.0
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= bruteTol*largest) {
			t.Errorf("%s of token %d is %v, want %v (%g off)", what, i, got[i], want[i], d)
		}
	}
}

// rowsOf returns the rows of a mixing of every layer, [L][T][T], divided by their sums.
func (m asked) rowsOf(t *testing.T, mixing string, ids []int) (layers [][][]float64) {
	t.Helper()
	ask := trace.Ask{Mixings: []trace.MixingAsk{{Name: mixing, AllRows: true}}, MaxTokens: 1}
	if m.Info().Bidirectional {
		ask.MaxTokens, ask.Positions = 0, []int{0}
	}
	for step, err := range m.Steps(t.Context(), ids, ask) {
		must(t, err)
		rows := step.Rows[0]
		for l := range rows.L {
			var layer [][]float64
			for n := range rows.N {
				row, sum := []float64(nil), 0.0
				for _, x := range rows.Row(l, 0, n) {
					row = append(row, float64(x))
					sum += float64(x)
				}
				for j := range row {
					row[j] /= sum
				}
				layer = append(layer, row)
			}
			layers = append(layers, layer)
		}
		break
	}
	return layers
}

// The parts of a logit and the rows of alti are compared with float64, on every golden, where they
// are computed (package transformer). Here the sums that direct and alti-logit make of them are
// made from the formula: with the product of all rows from the bottom up, which the scorer never
// forms.
func TestLogitPartsBruteForce(t *testing.T) {
	eachKind(t, func(t *testing.T, m asked, q trace.Query) {
		terms, err := m.LogitTerms(t.Context(), q)
		must(t, err)
		T, layers := len(q.IDs), m.rowsOf(t, "alti", q.IDs)
		if len(layers) != terms.L || len(layers[0]) != T {
			t.Fatalf("rows [%d,%d], want [%d,%d]", len(layers), len(layers[0]), terms.L, T)
		}
		direct, alti := make([]float64, T), make([]float64, T)
		product := make([][]float64, T) // M_{l-1}
		for i := range product {
			product[i] = make([]float64, T)
			product[i][i] = 1
		}
		for l, rows := range layers {
			next := make([][]float64, T)
			for s := range T {
				part := terms.Attention[l*T+s]
				direct[s] += part
				next[s] = make([]float64, T)
				for j := range T {
					alti[j] += part * product[s][j]
					for u := range T {
						next[s][j] += rows[s][u] * product[u][j]
					}
				}
			}
			product = next
		}
		alike(t, "direct", scored(t, "direct", m, q, scorer.Options{}).Values, direct)
		alike(t, "alti-logit", scored(t, "alti-logit", m, q, scorer.Options{}).Values, alti)

		embedding, err := m.Embed(t.Context(), q.IDs)
		must(t, err)
		gradients, err := m.Gradients(t.Context(), []trace.Query{q}, trace.RelevanceGradient)
		must(t, err)
		relevance := make([]float64, T)
		for i, e := range embedding {
			relevance[i*T/len(embedding)] += float64(e) * float64(gradients[0].Data[i])
		}
		alike(t, "attn-lrp", scored(t, "attn-lrp", m, q, scorer.Options{}).Values, relevance)

		_, logits := m.probabilities(t, q.IDs)
		x := scored(t, "decompx", m, q, scorer.Options{})
		sum := *x.Residue
		for _, v := range x.Values {
			sum += v
		}
		alike(t, "sum of decompx", []float64{sum, x.Value},
			slices.Repeat([]float64{logits[q.Position][q.Token]}, 2))
	})
}

// Interchange is computed again text by text, from logits that a pass over each text records.
func TestInterchangeBruteForce(t *testing.T) {
	eachKind(t, func(t *testing.T, m asked, q trace.Query) {
		value := func(ids []int) float64 {
			_, logits := m.probabilities(t, ids)
			return logits[q.Position][q.Token]
		}
		whole, want := value(q.IDs), make([]float64, len(q.IDs))
		for j := range q.IDs {
			ids, p := m.plausible(t, q, j)
			ids, p = ids[:min(5, len(ids))], p[:min(5, len(p))]
			sum := 0.0
			for _, x := range p {
				sum += x
			}
			for i, id := range ids {
				text := slices.Clone(q.IDs)
				text[j] = id
				want[j] += p[i] / sum * (whole - value(text))
			}
		}
		got := scored(t, "interchange", m, q, scorer.Options{})
		alike(t, "interchange", got.Values, want)
		alike(t, "the logit", []float64{got.Value}, []float64{whole})
	})
}

// ReAGent is computed again from the texts that it asked about: three tenths of their tokens are
// others that the model finds plausible there, and the scores are the means that the formula names.
func TestReAGentBruteForce(t *testing.T) {
	eachKind(t, func(t *testing.T, m asked, q trace.Query) {
		q.Quantity = trace.Probability
		const samples = 40
		got := scored(t, "reagent", m, q, scorer.Options{Samples: samples})
		T := len(q.IDs)
		free, stands := 0, make([][]int, T)
		for j := range q.IDs {
			stands[j], _ = m.plausible(t, q, j)
			if j > 0 || m.Info().Bidirectional {
				free += min(1, len(stands[j]))
				continue
			}
			free++ // at a decoder's first place any token may stand
			for id := range m.Info().Vocab {
				stands[j] = append(stands[j], id)
			}
		}
		value := func(ids []int) float64 {
			p, _ := m.probabilities(t, ids)
			return p[q.Position][q.Token]
		}
		whole := value(q.IDs)
		with, without, count := make([]float64, T), make([]float64, T), make([]float64, T)
		for _, asked := range (*m.queries)[1:] {
			replaced := 0
			delta := whole - value(asked.IDs)
			u := math.Log((1 + delta) / (1 - delta))
			for j, id := range asked.IDs {
				if id == q.IDs[j] {
					without[j] += u
					continue
				}
				replaced++
				with[j] += u
				count[j]++
				if !slices.Contains(stands[j], id) {
					t.Errorf("token %d stands at %d, where only %v may", id, j, stands[j])
				}
			}
			if want := int(math.Round(.3 * float64(free))); replaced != want {
				t.Errorf("%d of %d tokens are replaced, want %d", replaced, free, want)
			}
		}
		if len(*m.queries) != samples+1 {
			t.Errorf("%d texts, want %d and the text itself", len(*m.queries), samples)
		}
		want := make([]float64, T)
		for j := range want {
			if count[j] > 0 {
				want[j] = with[j]/count[j] - without[j]/(samples-count[j])
			}
		}
		alike(t, "reagent", got.Values, want)
	})
}

// maxFlow returns the most that flows from node (L,from) to node (0,to) of the network of flow, by
// the shortest paths that still have room (Edmonds and Karp 1972): edge (l+1,u) → (l,v) has room
// rows[l][u][v].
func maxFlow(layers [][][]float64, from, to int) float64 {
	L, T := len(layers), len(layers[0])
	room := map[[2]int]float64{} // between nodes l·T+u, in both directions
	for l, rows := range layers {
		for u, row := range rows {
			for v, x := range row {
				room[[2]int{(l+1)*T + u, l*T + v}] = x
			}
		}
	}
	const least = 1e-12 // room that is only rounding
	for flow := 0.0; ; {
		before := slices.Repeat([]int{-1}, (L+1)*T)
		queue := []int{L*T + from}
		before[queue[0]] = queue[0]
		for len(queue) > 0 {
			u := queue[0]
			queue = queue[1:]
			for v := range before {
				if before[v] < 0 && room[[2]int{u, v}] > least {
					before[v] = u
					queue = append(queue, v)
				}
			}
		}
		if before[to] < 0 {
			return flow
		}
		most := math.Inf(1)
		for v := to; before[v] != v; v = before[v] {
			most = min(most, room[[2]int{before[v], v}])
		}
		for v := to; before[v] != v; v = before[v] {
			room[[2]int{before[v], v}] -= most
			room[[2]int{v, before[v]}] += most
		}
		flow += most
	}
}

// Pairs of a mixing and an aggregation that are no methods of their own: max-flow and product in
// the network of a mixing's rows. Those of alti contain the residual; to those of norms half a
// residual is added.
func TestPairsBruteForce(t *testing.T) {
	eachKind(t, func(t *testing.T, m asked, q trace.Query) {
		opts := attribution.Options{
			Methods: []string{"alti+flow", "alti+rollout", "norms+flow"}, MaxTokens: 1,
		}
		if m.Info().Bidirectional {
			opts.MaxTokens, opts.Positions = 0, []int{q.Position}
		}
		e := fixture.Explain(t, fixed{m.Model, q.IDs}, "123456789", opts)
		alti, norms := m.rowsOf(t, "alti", q.IDs), m.rowsOf(t, "norms", q.IDs)
		for _, rows := range norms {
			for u := range rows {
				for v := range rows[u] {
					rows[u][v] /= 2
				}
				rows[u][u] += .5
			}
		}
		flows := func(layers [][][]float64) (all []float64) {
			for j := range q.IDs {
				all = append(all, maxFlow(layers, q.Position, j))
			}
			return all
		}
		for name, want := range map[string][]float64{
			"alti+flow": flows(alti), "norms+flow": flows(norms),
			"alti+rollout": product(alti, q.Position),
		} {
			r := e.Methods[name]
			alike(t, name, r.Row(0, r.Top()), want)
		}
	})
}

// product returns row t of the product of all layers' rows, [T].
func product(layers [][][]float64, t int) []float64 {
	row := layers[len(layers)-1][t]
	for l := len(layers) - 2; l >= 0; l-- {
		next := make([]float64, len(row))
		for u, x := range row {
			for j, c := range layers[l][u] {
				next[j] += x * c
			}
		}
		row = next
	}
	return row
}

// fixed encodes every text as the same tokens, one for each byte.
type fixed struct {
	*models.Model
	ids []int
}

func (m fixed) Encode(text string, _ trace.Specials) (tokens []trace.Token, err error) {
	for i, id := range m.ids[:len(text)] {
		tokens = append(tokens, trace.Token{ID: id, Text: text[i : i+1], Begin: i, End: i + 1})
	}
	return tokens, nil
}

var must = testhelp.Must // ends a test at an error
