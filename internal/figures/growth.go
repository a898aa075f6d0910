package figures

import (
	"fmt"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// growthTexts are cut to n tokens.
const (
	growthVerb     = "the keys to the cabinet near the door by the lamp of the man from the river "
	growthLanguage = "The keys to the cabinet near the door by the lamp of the man from the river "
)

// stated are the exponents of layers and tokens in the paper.
var (
	statedRollout = [2]float64{1, 2}
	statedFlow    = [2]float64{2, 4}
)

// counted are the operations of one method: for each number of layers, those for each number of
// tokens.
type counted struct {
	method, counts string
	operations     [][]float64
	stated         [2]float64 // 0 if the paper states none
}

func growth(r *run) error {
	if err := r.needLayers(3); err != nil { // two numbers of layers, from 2 on, give an exponent
		return err
	}
	lengths := []int{4, 6, 8, 12, 16}
	const most = 8                                     // layers
	layers := levels(min(r.info.Layers, most) + 1)[2:] // one layer needs no product and no path
	all := []counted{
		{method: "rollout of one token", counts: "multiplications", stated: statedRollout},
		{method: "rollout of all tokens", counts: "multiplications"},
		{method: "flow of one token", counts: "edges looked at", stated: statedFlow},
	}
	for i := range all {
		all[i].operations = make([][]float64, len(layers))
	}
	apart := 0.0
	for k, n := range lengths {
		weights, flow, err := r.augmented(n)
		if err != nil {
			return err
		}
		for i := range layers {
			d := i + 2
			t := 0 // the class token, or a decoder's last token
			if !r.info.Bidirectional {
				t = n - 1
			}
			one, total := rolloutOperations(weights, d, n, t)
			edges, row := flowOperations(weights[:d*n*n], d, n, t)
			for j, v := range row {
				apart = max(apart, math.Abs(v-flow.Row(d-1, t)[j]))
			}
			for m, v := range []int{one, total, edges} {
				all[m].operations[i] = append(all[m].operations[i], float64(v))
			}
			if err := r.ctx.Err(); err != nil {
				return err
			}
		}
		r.progress("counting operations", "length", k+1, len(lengths))
	}
	r.growthTable(all, lengths, layers)
	r.zero(claim{"same-flow", "The flow that is counted, by Edmonds and Karp's algorithm as in " +
		"the paper's program, is that of the other figures: largest difference"}, 1e-6, apart)
	r.note("Operations are counted, not seconds: multiplications of rollout, and edges that the " +
		"search for paths looks at. Flow of one token is a maximum flow for each of n inputs. " +
		"Exponents are those of d and n in a product c·dᵖ·n^q with the least squares of " +
		"logarithms, from 2 layers on.")
	r.note("The paper's O(d·n²) is that of the rollout of one token. The product of whole " +
		"matrices takes d·n³. docs/growth.md has the time that this program takes.")
	return nil
}

// augmented returns Â of every layer, [L,n,n], for a text of n tokens, and the flow of the method.
func (r *run) augmented(n int) ([]float64, *attribution.Map, error) {
	tokens, err := r.m.Encode(strings.Repeat(r.prompt(growthVerb, growthLanguage), 3),
		trace.SpecialsAuto)
	if err != nil {
		return nil, nil, &lack{message.Words(err, nil)}
	}
	if len(tokens) < n {
		return nil, nil, lackf("it needs %d tokens, and %s reads its text as %d", n, r.info.Name,
			len(tokens))
	}
	if limit := r.info.Context; 0 < limit && limit < n {
		return nil, nil, lackf("it needs %d tokens, more than the context of %s, %d", n,
			r.info.Name, limit)
	}
	tensors, err := r.trace(trace.IDs(tokens[:n]), trace.Attention)
	if err != nil {
		return nil, nil, err
	}
	a, err := attribution.Attribute(r.ctx, attribution.InMemory(tensors), attribution.Options{
		Methods: []string{"raw", "flow"},
	})
	if err != nil {
		return nil, nil, err
	}
	raw := a.Methods["raw"]
	var weights []float64
	for l := range r.info.Layers {
		for t := range n {
			for s, v := range raw.Row(l, t) {
				v /= 2
				if s == t {
					v += 0.5
				}
				weights = append(weights, v)
			}
		}
	}
	return weights, a.Methods["flow"], nil
}

// rolloutOperations counts the multiplications of rollout through d layers of n tokens: of the row
// of one target, from the top layer down, and of all rows.
func rolloutOperations(weights []float64, d, n, target int) (one, all int) {
	row := make([]float64, n)
	row[target] = 1
	for l := d - 1; l >= 0; l-- {
		next := make([]float64, n)
		for t, v := range row {
			for s := range n {
				next[s] += v * weights[(l*n+t)*n+s]
				one++
			}
		}
		row = next
	}
	product := weights[:n*n]
	for l := 1; l < d; l++ {
		next := make([]float64, n*n)
		for t := range n {
			for k := range n {
				for s := range n {
					next[t*n+s] += weights[(l*n+t)*n+k] * product[k*n+s]
					all++
				}
			}
		}
		product = next
	}
	return one, all
}

// flowOperations finds the maximum flow of a target after d layers from each of n inputs, [n], by
// shortest paths (Edmonds and Karp 1972), and counts the edges that the searches look at.
func flowOperations(weights []float64, d, n, target int) (looked int, row []float64) {
	for j := range n {
		g := residual{d: d, n: n, room: append([]float64(nil), weights...)}
		g.sent = make([]float64, len(weights))
		total := 0.0
		for {
			amount := g.augment(target, j)
			if amount == 0 {
				break
			}
			total += amount
		}
		looked, row = looked+g.looked, append(row, total)
	}
	return looked, row
}

// residual is a network of d layers of n tokens while a flow is found. Node (k,u) is token u after
// k layers.
type residual struct {
	d, n int
	// room and sent are, [d,n,n], what can still be sent from node (k+1,u) to node (k,v), and what
	// is sent.
	room, sent []float64
	looked     int
}

// leastRoom is what counts as no room: rounding.
const leastRoom = 1e-12

// augment sends what fits along one shortest path from a target after the last layer to input j,
// and returns how much: 0 if there is no path.
func (g *residual) augment(target, j int) float64 {
	from := make([]int, (g.d+1)*g.n) // the node before each node, plus 1
	first := g.d*g.n + target
	from[first] = first + 1
	queue := []int{first}
	for at := 0; at < len(queue) && from[j] == 0; at++ {
		x := queue[at]
		for v := range g.n {
			for _, step := range []int{-1, 1} {
				y := (x/g.n+step)*g.n + v
				if y < 0 || y >= len(from) {
					continue
				}
				g.looked++
				if from[y] == 0 && *g.edge(x, y) > leastRoom {
					from[y] = x + 1
					queue = append(queue, y)
				}
			}
		}
	}
	if from[j] == 0 {
		return 0
	}
	amount := math.Inf(1)
	for y := j; y != first; y = from[y] - 1 {
		amount = min(amount, *g.edge(from[y]-1, y))
	}
	for y := j; y != first; y = from[y] - 1 {
		*g.edge(from[y]-1, y) -= amount
		*g.edge(y, from[y]-1) += amount
	}
	return amount
}

// edge returns what can be sent from node x to its neighbour y: room downwards, and upwards what
// was sent.
func (g *residual) edge(x, y int) *float64 {
	if y < x {
		return &g.room[(y/g.n*g.n+x%g.n)*g.n+y%g.n]
	}
	return &g.sent[(x/g.n*g.n+y%g.n)*g.n+x%g.n]
}

// exponents returns p and q of the product c·dᵖ·n^q that is nearest to the operations in
// logarithms; layers count from 2. Every number of layers goes with every number of tokens, so each
// exponent is the slope of a line through means.
func exponents(operations [][]float64, lengths []int) (p, q float64) {
	var d, n []float64 // logarithms
	byD, byN := make([]float64, len(operations)), make([]float64, len(lengths))
	for _, length := range lengths {
		n = append(n, math.Log(float64(length)))
	}
	for i, row := range operations {
		d = append(d, math.Log(float64(i+2)))
		for k, v := range row {
			byD[i] += math.Log(v) / float64(len(lengths))
			byN[k] += math.Log(v) / float64(len(operations))
		}
	}
	return slope(d, byD), slope(n, byN)
}

// slope returns that of the line through points with the least squares.
func slope(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	xy, xx := 0.0, 0.0
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	return xy / xx
}

// growthTable writes the table, the chart and the checks.
func (r *run) growthTable(all []counted, lengths []int, layers []string) {
	table := reproduction.Table{
		Title:   "Operations by layers and tokens",
		Columns: []string{"method", "counted", "layers"},
	}
	for _, n := range lengths {
		table.Columns = append(table.Columns, fmt.Sprintf("%d tokens", n))
	}
	table.Columns = append(table.Columns, "exponent of layers", "exponent of tokens")
	var series []chart.Series
	for _, m := range all {
		p, q := exponents(m.operations, lengths)
		for i, row := range m.operations {
			cells := []string{m.method, m.counts, layers[i]}
			for _, v := range row {
				cells = append(cells, fmt.Sprintf("%.0f", v))
			}
			if i == 0 {
				cells = append(cells, fmt.Sprintf("%.2f", p), fmt.Sprintf("%.2f", q))
			} else {
				cells = append(cells, "", "")
			}
			table.Rows = append(table.Rows, cells)
		}
		line := chart.Series{Name: m.method}
		for k, v := range m.operations[len(layers)-1] {
			line.X = append(line.X, math.Log2(float64(lengths[k])))
			line.Y = append(line.Y, math.Log2(v))
			line.Labels = append(line.Labels, fmt.Sprintf("%d tokens: %.0f %s", lengths[k], v,
				m.counts))
		}
		series = append(series, line)
		if m.stated[0] == 0 {
			continue
		}
		id, _, _ := strings.Cut(m.method, " ")
		for _, x := range []struct {
			id, what   string
			got, bound float64
		}{
			{"-layers", "layers d", p, m.stated[0]}, {"-tokens", "tokens n", q, m.stated[1]},
		} {
			r.check(claim{id + x.id, fmt.Sprintf("Operations of %s: exponent of the %s", m.method,
				x.what)}, fmt.Sprintf("at most %.0f", x.bound), fmt.Sprintf("%.2f", x.got),
				x.got <= x.bound+rounding)
		}
	}
	r.table(table)
	r.picture("", 1, chart.Chart{
		Kind: chart.Lines, Title: fmt.Sprintf("Operations with %s layers",
			layers[len(layers)-1]),
		X: chart.Axis{Title: "tokens, logarithm to base 2"},
		Y: chart.Axis{Title: "operations, logarithm to base 2"}, Series: series,
	})
}

// rounding is what an exponent may be above the stated one: that of a fit in float64.
const rounding = 1e-9
