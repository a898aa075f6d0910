package patch_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/internal/study/patch"
)

// node is a place of [gpt2]: a head of a layer, or -1 for what has none.
type node struct {
	place       patch.Place
	layer, head int
}

// gpt2 is GPT-2 in float64, written from its paper. at gets every node on the way and returns what
// takes its place; attention has the place "pattern".
type gpt2 struct {
	weights              map[string][]float64
	layers, heads, width int
	at                   func(n node, x [][]float64) [][]float64
}

// times is x W + b.
func (g *gpt2) times(x [][]float64, name string) (y [][]float64) {
	bias, w := g.weights[name+".bias"], g.weights[name+".weight"]
	for _, row := range x {
		out := slices.Clone(bias)
		for i, a := range row {
			for j := range out {
				out[j] += a * w[i*len(out)+j]
			}
		}
		y = append(y, out)
	}
	return y
}

func (g *gpt2) norm(x [][]float64, name string) (y [][]float64) {
	for _, row := range x {
		mean, squares := 0.0, 0.0
		for _, a := range row {
			mean += a / float64(len(row))
		}
		for _, a := range row {
			squares += (a - mean) * (a - mean) / float64(len(row))
		}
		out := make([]float64, len(row))
		for i, a := range row {
			out[i] = (a-mean)/math.Sqrt(squares+1e-5)*g.weights[name+".weight"][i] +
				g.weights[name+".bias"][i]
		}
		y = append(y, out)
	}
	return y
}

func added(x, y [][]float64, times float64) [][]float64 {
	z := make([][]float64, len(x))
	for t := range x {
		z[t] = slices.Clone(x[t])
		for i := range z[t] {
			z[t][i] += times * y[t][i]
		}
	}
	return z
}

// run returns the logit of the answer minus that of the foil after a text.
func (g *gpt2) run(ids []int, answer, foil int) (m float64) {
	D, T := g.width, len(ids)
	E := D / g.heads
	var x [][]float64
	for t, id := range ids {
		x = append(x, slices.Clone(g.weights["wte.weight"][id*D:][:D]))
		for i := range x[t] {
			x[t][i] += g.weights["wpe.weight"][t*D+i]
		}
	}
	for l := range g.layers {
		name := fmt.Sprintf("h.%d.", l)
		all := g.times(g.norm(x, name+"ln_1"), name+"attn.c_attn")
		joined := make([][]float64, T)
		for h := range g.heads {
			var qkv [3][][]float64
			for part, place := range []patch.Place{patch.Queries, patch.Keys, patch.Values} {
				for t := range T {
					qkv[part] = append(qkv[part], all[t][part*D+h*E:][:E])
				}
				qkv[part] = g.at(node{place, l, h}, qkv[part])
			}
			pattern := make([][]float64, T)
			for t := range T {
				pattern[t] = make([]float64, T)
				sum := 0.0
				for s := range t + 1 {
					score := 0.0
					for i := range E {
						score += qkv[0][t][i] * qkv[1][s][i] / math.Sqrt(float64(E))
					}
					pattern[t][s] = math.Exp(score)
					sum += pattern[t][s]
				}
				for s := range pattern[t] {
					pattern[t][s] /= sum
				}
			}
			pattern = g.at(node{"pattern", l, h}, pattern)
			context := make([][]float64, T)
			for t := range T {
				context[t] = make([]float64, E)
				for s := range T {
					for i := range E {
						context[t][i] += pattern[t][s] * qkv[2][s][i]
					}
				}
			}
			for t, row := range g.at(node{patch.Heads, l, h}, context) {
				joined[t] = append(joined[t], row...)
			}
		}
		x = added(x, g.at(node{patch.Attention, l, -1}, g.times(joined, name+"attn.c_proj")), 1)
		inner := g.times(g.norm(x, name+"ln_2"), name+"mlp.c_fc")
		for _, row := range inner {
			for i, a := range row {
				row[i] = a / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(a+.044715*a*a*a)))
			}
		}
		x = added(x, g.at(node{patch.FeedForward, l, -1}, g.times(inner, name+"mlp.c_proj")), 1)
	}
	last := g.norm(x, "ln_f")[T-1]
	for i, a := range last {
		m += a * (g.weights["wte.weight"][answer*D+i] - g.weights["wte.weight"][foil*D+i])
	}
	return m
}

// star is AtP* of a node by its definition, one node and one layer at a time: the gradients are
// difference quotients of runs in which the layer adds what it adds without a change.
func (g *gpt2) star(clean, corrupted []int, answer, foil int, n node, position int) float64 {
	record := func(ids []int) (map[node][][]float64, float64) {
		all := map[node][][]float64{}
		g.at = func(n node, x [][]float64) [][]float64 {
			all[n] = x
			return x
		}
		return all, g.run(ids, answer, foil)
	}
	base, mBase := record(corrupted)
	other, mOther := record(clean)
	moved := n
	change := added(other[n], base[n], -1)
	if n.place == patch.Queries || n.place == patch.Keys {
		moved.place = "pattern"
		g.at = func(at node, x [][]float64) [][]float64 {
			if at == n {
				return other[n]
			}
			if at == moved {
				change = added(x, base[moved], -1)
			}
			return x
		}
		g.run(corrupted, answer, foil)
	}
	for t := range change {
		if position >= 0 && t != position {
			clear(change[t])
		}
	}
	sum := 0.0
	for layer := range g.layers {
		if layer == n.layer {
			continue
		}
		by := func(step float64) float64 {
			g.at = func(at node, x [][]float64) [][]float64 {
				switch {
				case at.head < 0 && at.layer == layer:
					return base[at]
				case at == moved:
					return added(x, change, step)
				}
				return x
			}
			return g.run(corrupted, answer, foil)
		}
		const step = 1e-4
		sum += math.Abs((by(step)-by(-step))/(2*step)) / math.Abs(mOther-mBase)
	}
	return sum / float64(g.layers-1)
}

// weightsOf reads the float32 weights of a golden, without the first part of their names.
func weightsOf(t *testing.T, golden string) map[string][]float64 {
	t.Helper()
	data, err := os.ReadFile("../../../models/testdata/goldens/" + golden + "/model.safetensors")
	must(t, err)
	begin := 8 + binary.LittleEndian.Uint64(data)
	var header map[string]struct {
		Offsets [2]uint64 `json:"data_offsets"`
	}
	must(t, json.Unmarshal(data[8:begin], &header))
	weights := map[string][]float64{}
	for name, tensor := range header {
		_, name, _ = strings.Cut(name, ".")
		for at := begin + tensor.Offsets[0]; at < begin+tensor.Offsets[1]; at += 4 {
			bits := binary.LittleEndian.Uint32(data[at:])
			weights[name] = append(weights[name], float64(math.Float32frombits(bits)))
		}
	}
	return weights
}

// starTol bounds what float32 changes in an estimate by AtP*; 3e-6 was seen.
const starTol = 1e-5

// TestStarAgainstDefinition: AtP* of every kind of place is that of a model in float64, computed as
// the paper writes it, from runs alone.
func TestStarAgainstDefinition(t *testing.T) {
	g := &gpt2{weights: weightsOf(t, "gpt2"), layers: 3, heads: 4, width: 32}
	m := openGolden(t, "gpt2")
	clean, corrupted := []int{5, 17, 40, 8, 61, 23}, []int{5, 30, 40, 8, 9, 23}
	const answer, foil = 7, 50
	for _, place := range patch.StarAlone.Places() {
		if place == patch.LastHeads {
			continue // whose change is that of heads at one position
		}
		r, err := patch.Map(t.Context(), m, patch.Options{
			Clean: tokens(clean), Corrupted: tokens(corrupted), Answer: new(answer),
			Foil: new(foil), Place: place, Estimate: patch.StarBeside,
		})
		must(t, err)
		most, furthest := 0.0, 0.0
		for k, got := range r.Estimate {
			n, position := node{place, k / r.Shape[1], k % r.Shape[1]}, -1
			if !place.ByHead() {
				n.head, position = -1, n.head
			}
			want := g.star(clean, corrupted, answer, foil, n, position)
			near(t, fmt.Sprint(place, " ", k/r.Shape[1], ".", k%r.Shape[1]), got, want, starTol)
			most, furthest = max(most, want), max(furthest, math.Abs(got-want))
		}
		t.Logf("%s: up to %.2g, off by up to %.1g", place, most, furthest)
		if most < .01 || !r.Star || r.Correlation == nil || len(r.Recovery) != len(r.Estimate) {
			t.Errorf("%s: the largest is %g, correlation %v", place, most, r.Correlation)
		}
	}
}

// TestStarOfSaturatedAttention: in the planted induction circuit, attention is all or nothing: the
// gradient finds neither that the second head looks for the word by its query nor that it finds it
// by its key, and the exact softmax finds both.
func TestStarOfSaturatedAttention(t *testing.T) {
	m := open(t, "planted-induction")
	circuit, err := planted.Lookup("planted-induction")
	must(t, err)
	text := circuit.Texts(1, 3)[0]
	for evidence, place := range map[int]patch.Place{0: patch.Keys, 2: patch.Queries} {
		clean, corrupted := changedText(t, m, circuit, text, text.Evidence[evidence])
		for estimate, want := range map[patch.Estimate]float64{patch.Beside: 0, patch.StarBeside: 1} {
			r, err := patch.Map(t.Context(), m, patch.Options{
				Clean: clean, Corrupted: corrupted, Place: place, Estimate: estimate,
			})
			must(t, err)
			near(t, fmt.Sprint(place, " patched"), r.At(1, 0), 1, 1e-5)
			near(t, fmt.Sprint(place, " by ", estimate), r.Estimate[1], want, 1e-5)
		}
	}
}

// TestSharedKeysAreOnePlace: heads that share a key or a value are patched together, in one run,
// and estimated together: the estimate is the difference quotient of both.
func TestSharedKeysAreOnePlace(t *testing.T) {
	g := goldens(t)["llama"]
	m := openGolden(t, "llama")
	for _, place := range []patch.Place{patch.Keys, patch.Values} {
		r, err := patch.Map(t.Context(), m, patch.Options{
			Clean: tokens(g.Clean), Corrupted: tokens(g.Corrupted), Answer: &g.Answer,
			Foil: &g.Foil, Place: place, Estimate: patch.Beside,
		})
		must(t, err)
		tap := map[patch.Place]trace.Tap{
			patch.Keys: trace.KeyVector, patch.Values: trace.Value,
		}[place]
		taps := [2]trace.Tensor{}
		for i, ids := range [][]int{g.Corrupted, g.Clean} {
			out, err := m.Run(t.Context(), ids, []trace.Tap{tap}, nil)
			must(t, err)
			taps[i] = out[0]
		}
		for i := range taps[0].Data {
			taps[1].Data[i] -= taps[0].Data[i]
		}
		one := [][]int{{0, 1}, {2, 3}}
		if r.Shape != [2]int{3, 4} || r.Runs > 6 || !slices.EqualFunc(r.Shared, one, slices.Equal) {
			t.Errorf("%s: shape %v, %d runs, shared %v", place, r.Shape, r.Runs, r.Shared)
		}
		for k := range r.Estimate {
			l, h := k/4, k%4/2*2
			change, err := trace.Edit{
				Tap: tap, Layers: []int{l}, Heads: []int{h, h + 1}, Change: trace.AddValue,
				Factor: .01,
			}.From(taps[1])
			must(t, err)
			q := trace.Query{IDs: g.Corrupted, Objective: trace.Objective{
				Quantity: trace.Logit, Position: r.Position, Token: g.Answer, Contrast: &g.Foil,
			}}
			ahead, behind := q, q
			back := change
			back.Factor = -change.Factor
			ahead.Edits, behind.Edits = []trace.Edit{change}, []trace.Edit{back}
			values, err := m.Predict(t.Context(), []trace.Query{ahead, behind})
			must(t, err)
			want := (values[0] - values[1]) / (2 * change.Factor) /
				(r.CleanDifference - r.CorruptedDifference)
			near(t, fmt.Sprint(place, " ", l, ".", k%4), r.Estimate[k], want, 2e-3)
		}
	}
}
