package render

import (
	"cmp"
	"context"
	"fmt"
	"github.com/headwater-ml/headwater/attribution/trace"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

func init() {
	RegisterView(View{
		Name: KindFlow, Help: "the layered graph of flow to one token", Contents: "graph of flow",
		Takes: map[string]Media{
			"token": InAll, "source": InAll, "sinks": InAll, "methods": InAll, "all-layers": InAll,
			"all-levels": InAll,
		},
		Method: "flow", Methods: -1, Whole: "a graph of flow has tokens and edges as they are",
		Record: FlowRecord,
		Opened: func(s Show, e *attribution.Explanation) Show {
			if s.Token == nil && s.Tokens == nil {
				first := firstWord(e)
				s.Token = &first
			}
			return s
		},
		Picture: func(s Show, e *attribution.Explanation, recorded any) (Picture, error) {
			return Flow{
				Explanation: e, Graph: recorded.(*attribution.FlowGraph), Token: deref(s.Token),
				Sinks: s.Sinks, Look: s.Look(),
			}, nil
		},
	})
}

// FlowRecord is the graph of attention flow to the token of a picture, an [attribution.FlowGraph].
var FlowRecord = &Record{
	Name:    "flow graph",
	Needed:  "a graph needs the widths of its edges",
	Missing: "compute the method flow",
	Check:   checkHeads,
	Of: func(ctx context.Context, m trace.Tracer, s Show, e *attribution.Explanation,
		opts attribution.Options,
	) (any, error) {
		ids, ends, err := e.FlowEnds(deref(s.Token), s.Source)
		if err != nil {
			return nil, err
		}
		tensors, err := m.Trace(ctx, ids, []trace.Tap{trace.Attention})
		if err != nil {
			return nil, err
		}
		opts.Methods, opts.Lift, opts.AllLevels = []string{"flow"}, false, false
		in := attribution.InMemory(tensors)
		in.Prefix, in.Encoder = e.Model.Prefix(ids), e.Model.EncoderLayers
		in.Sinks = e.Model.Sinks
		return attribution.NewFlowGraph(ctx, in, opts, ends[0], ends[1])
	},
	Numbers: func(recorded any) []float64 { return recorded.(*attribution.FlowGraph).Widths },
}

// Flow is a picture of the layered graph of attention flow (Abnar and Zuidema 2020, Figure 1), for
// a notebook or a page. Each token is a column of nodes, and layers go from the bottom up. Edges
// are as thick as they are wide; the widest path and the minimum cut between source and target are
// marked. Only edges are drawn that the target can reach, because no other one carries anything to
// it. Edges to sinks are drawn if Sinks asks for them, or a reader does.
//
// Of more than 40 tokens or 30 layers, the picture has those with the widest paths from the target,
// and says so. Where scripts run, any node can be chosen to see what it has from which token.
type Flow struct {
	// Explanation has the text, m prompt tokens and n generated tokens, and the method flow over
	// tokens.
	Explanation *attribution.Explanation
	// Graph is the graph of T tokens, with the flow between its ends; see
	// [attribution.Explanation.FlowEnds].
	Graph *attribution.FlowGraph
	// Token is the generated token that the target predicts, 0-based.
	Token int
	// Sinks draws the edges to sinks too.
	Sinks bool
	// Look has the colours and the caption, as that of a [Heatmap].
	Look
}

// Check returns a [trace.UsageError] if the graph does not fit the text. Pictures of a graph that
// does not fit say so.
func (r Flow) Check() error {
	if r.Explanation == nil || r.Graph == nil {
		return usagef("a picture of flow needs an explanation and a graph")
	}
	g, L := r.Graph, len(r.Graph.Layers)
	most := textLength(r.Explanation)
	switch {
	case r.Token < 0 || r.Token >= len(r.Explanation.Steps):
		return usagef("generated token %d; the explanation has %s, from 0", r.Token,
			r.Explanation.Made())
	case L == 0 || g.Tokens < 1 || g.Tokens > most || len(g.Widths) != L*g.Tokens*g.Tokens:
		return usagef("a graph of %d tokens with %d widths in %d layers does not fit a text of %d "+
			"tokens", g.Tokens, len(g.Widths), L, most)
	case g.Cut == nil || min(g.Cut.Target, g.Cut.Source) < 0 ||
		max(g.Cut.Target, g.Cut.Source) >= g.Tokens:
		return usagef("the flow of the graph has no ends among its %d tokens", g.Tokens)
	case len(g.Path) != 0 && len(g.Path) != L+1:
		return usagef("a path of %d nodes does not fit %d layers", len(g.Path), L)
	}
	for _, token := range g.Path {
		if token < 0 || token >= g.Tokens {
			return usagef("token %d of the path; the graph has %d", token, g.Tokens)
		}
	}
	return nil
}

const (
	// flowRows and flowLayers are how many tokens and layers a picture shows.
	flowRows, flowLayers = 40, 30
	// leastWidth is the width below which an edge is not drawn, and flowEdges how many are.
	leastWidth = 0.02
	flowEdges  = 2500
)

// flowPage is the state of writing [Flow].
type flowPage struct {
	*drawing
	g *attribution.FlowGraph
	t int
	// reach is how wide the widest path from the target to each node is, [L+1][T]: reach[l] is that
	// of tokens before layer Layers[l], and reach[L] that of tokens after the last one.
	reach [][]float64
	// cutEnds are the nodes at the ends of the minimum cut, each a level of reach and a token.
	cutEnds map[[2]int]bool
	// rows are the tokens shown and layers the indices of the layers shown, both rising.
	rows, layers []int
	sinks        []bool // [T], tokens that most others look at
	sinkEdges    bool   // edges to sinks are drawn
	edges        []flowEdge
	// narrow and hidden count edges that are not drawn: those that are too narrow, and those whose
	// tokens or layers are not shown.
	narrow, hidden int
}

// flowEdge is an edge from target u after layer Layers[l] to source v before it.
type flowEdge struct {
	l, u, v int
	width   float64
	// strength is how wide the widest path is from the other end of the edge to the target.
	strength float64
}

func (r Flow) draw() drawer { return r.board() }

// open computes what a picture of flow shows. The graph fits.
func (r Flow) open() *flowPage {
	f := &flowPage{
		drawing: newDrawing(textPicture(r.Explanation, r.Look), &r.Token), g: r.Graph,
		t: r.Token, sinkEdges: r.Sinks,
	}
	f.words.title = "How much can flow to one token"
	f.findReach()
	f.findCutEnds()
	f.findSinks()
	f.chooseRows()
	f.chooseLayers()
	f.findEdges()
	places := make([]float64, len(f.tokens))
	for _, j := range f.rows {
		places[j] = 1
	}
	f.columns = f.fold(places)
	return f
}

// findReach finds the widest paths from the target down. Edges within a token count too.
func (f *flowPage) findReach() {
	L, T := len(f.g.Layers), f.g.Tokens
	f.reach = make([][]float64, L+1)
	for k := range f.reach {
		f.reach[k] = make([]float64, T)
	}
	f.reach[L][f.g.Cut.Target] = math.Inf(1)
	for l := L - 1; l >= 0; l-- {
		for u, wide := range f.reach[l+1] {
			for v := 0; wide > 0 && v < T; v++ {
				f.reach[l][v] = max(f.reach[l][v], min(wide, f.g.Width(l, u, v)))
			}
		}
	}
}

// findCutEnds finds the nodes at the ends of the minimum cut.
func (f *flowPage) findCutEnds() {
	f.cutEnds = map[[2]int]bool{}
	for _, e := range f.g.Cut.Edges {
		if l := slices.Index(f.g.Layers, e.Layer); l >= 0 {
			f.cutEnds[[2]int{l, e.Source}] = true
			f.cutEnds[[2]int{l + 1, e.Target}] = true
		}
	}
}

// findSinks marks the sinks of what tokens have from other tokens, over all layers, [T].
func (f *flowPage) findSinks() {
	f.sinks = f.e.TextSinks(f.g.Tokens, func(u, v int) (part, whole float64) {
		for l := range f.g.Layers {
			part += f.g.Width(l, u, v)
			for w := range f.g.Tokens {
				if w != u {
					whole += f.g.Width(l, u, w)
				}
			}
		}
		return part, whole
	})
}

// leftOut reports whether edges to token v are not drawn, because it is a sink.
func (f *flowPage) leftOut(v int) bool { return f.sinks[v] && !f.sinkEdges }

// chooseRows chooses the tokens to show: the ends of the flow, those of the widest path, and those
// that the target reaches on the widest paths that end at another token.
func (f *flowPage) chooseRows() {
	weight := make([]float64, f.g.Tokens)
	for l := range f.g.Layers {
		for u, wide := range f.reach[l+1] {
			for v := range f.g.Tokens {
				if v != u {
					weight[v] = max(weight[v], min(wide, f.g.Width(l, u, v)))
				}
			}
		}
	}
	for _, v := range append(slices.Clone(f.g.Path), f.g.Cut.Target, f.g.Cut.Source) {
		weight[v] = math.Inf(1)
	}
	f.rows = strongestOf(weight, flowRows)
	if !f.e.Model.Bidirectional { // a decoder's edges lead to earlier tokens alone
		f.rows = slices.DeleteFunc(f.rows, func(v int) bool { return v > f.g.Cut.Target })
	}
}

// chooseLayers chooses the layers to show: those where the widest path goes to another token, and
// those with the widest edges between tokens on a path from the target.
func (f *flowPage) chooseLayers() {
	L := len(f.g.Layers)
	weight := make([]float64, L)
	for l := range weight {
		for u, wide := range f.reach[l+1] {
			for v := range f.g.Tokens {
				if v != u && !f.leftOut(v) {
					weight[l] = max(weight[l], min(wide, f.g.Width(l, u, v)))
				}
			}
		}
		if k := L - 1 - l; len(f.g.Path) > 0 && f.g.Path[k] != f.g.Path[k+1] {
			weight[l] = math.Inf(1)
		}
	}
	f.layers = strongestOf(weight, flowLayers)
}

// strongestOf returns the indices of the k largest weights, in rising order, the first ones among
// equals.
func strongestOf(weight []float64, k int) []int {
	all := rowmath.Falling(weight, nil)[:min(k, len(weight))]
	slices.Sort(all)
	return all
}

// findEdges finds the edges to draw, the narrowest first.
func (f *flowPage) findEdges() {
	shown := func(list []int, i int) bool {
		_, found := slices.BinarySearch(list, i)
		return found
	}
	for l := range f.g.Layers {
		for u, wide := range f.reach[l+1] {
			for v := range f.g.Tokens {
				w := min(f.g.Width(l, u, v), 1)
				switch {
				case min(wide, w) <= 0:
				case min(wide, w) < leastWidth:
					f.narrow++
				case !shown(f.layers, l) || !shown(f.rows, u) || !shown(f.rows, v):
					f.hidden++
				default:
					f.edges = append(f.edges, flowEdge{l, u, v, w, min(wide, w)})
				}
			}
		}
	}
	slices.SortStableFunc(f.edges, func(a, b flowEdge) int { return cmp.Compare(a.width, b.width) })
	if n := len(f.edges) - flowEdges; n > 0 {
		f.edges, f.narrow = f.edges[n:], f.narrow+n
	}
}

// listedEdges is how many edges between tokens a text lists.
const listedEdges = 12

// board works out what the picture shows.
func (r Flow) board() *Board {
	f := r.open()
	g := f.g
	b := &Board{
		drawing: f.drawing, Kind: "flow", Graph: f.graph(),
		Details: "the minimum cut, the widest path", Legend: flowLegend,
		Opened:  Opening{Token: -1, Steps: make([]int, len(f.tokens))},
		Caption: []string{f.e.Model.LayerRange(g.Layers[0], g.Layers[len(g.Layers)-1])},
	}
	b.Opened.Say, b.Opened.Facts = f.answer()
	for _, j := range g.Path {
		b.Opened.Steps[j] = 3
	}
	for _, sentence := range f.sentences() {
		b.Lines = append(b.Lines, Line{Name: sentence})
	}
	if r := f.e.Methods["flow"]; r != nil {
		b.Lines = append(b.Lines, Line{Name: "flow: " + Visible((&view{result: r}).options(), 0)})
	}
	b.Table.Heading = fmt.Sprintf("flow from “%s” to “%s”", plain(f.axisName(g.Cut.Source)),
		plain(f.axisName(g.Cut.Target)))
	if s := f.e.Steps[f.t]; s.Text != "" {
		b.Table.Heading += fmt.Sprintf(", which predicts “%s”", plain(f.generatedName(f.t)))
	}
	b.Table.Heading += ": " + fixed(g.Cut.Flow, 3)
	b.Silence = f.silence()
	b.Notes = []string{"The number beside a name is the flow from it." + f.partly()}
	b.Lists = f.lists()
	return b
}

// lists are the widest path, the minimum cut, the flow from each token and the widest edges, for a
// text.
func (f *flowPage) lists() []Line {
	var from []string
	for _, j := range f.rows {
		if flow := f.flowFrom(j); flow != "" {
			from = append(from, f.placedName(j)+" "+flow)
		}
	}
	left := ", sinks left out:"
	if f.sinkEdges {
		left = ":"
	}
	all := []Line{
		{Name: f.pathSentence()}, {Name: f.cutSentence()},
		{Name: "flow from  ", List: strings.Join(from, " · ")},
		{Name: "Edges between tokens with the widest paths to the target" + left},
	}
	edges := slices.DeleteFunc(slices.Clone(f.edges), func(e flowEdge) bool {
		return e.u == e.v || f.leftOut(e.v)
	})
	slices.SortStableFunc(edges, func(a, b flowEdge) int {
		return cmp.Or(cmp.Compare(b.strength, a.strength), cmp.Compare(b.width, a.width))
	})
	for _, e := range edges[:min(len(edges), listedEdges)] {
		all = append(all, Line{
			Name: fmt.Sprintf("  %s%s  ", f.layerWord(1),
				right(f.e.Model.LayerLabel(f.g.Layers[e.l]), 2)),
			List: fmt.Sprintf("%s → %s %s", f.placedName(e.v), f.placedName(e.u),
				fixed(e.width, 3)),
		})
	}
	return all
}

// graph works out the graph: level 0 is before the first layer shown, and the node of rows[i] at
// level k is the one of index k·len(rows)+i.
func (f *flowPage) graph() *Graph {
	rows, layers := len(f.rows), len(f.layers)
	layerName := func(k int) string { return f.e.Model.LayerName(f.g.Layers[f.layers[k]]) }
	g := &Graph{
		Title: "Layer by layer, " + layerName(0) + " at the bottom",
		Alt:   "graph of attention flow", Axis: "layer", Marks: flowMarks + f.partly(),
		Hint:    "Point at a token and a layer, or click to keep it",
		Outside: "This token is not in the graph", ShowsQuiet: f.sinkEdges,
		Columns: float64(rows), Levels: float64(layers),
		// The token explained is predicted where the graph ends.
		Ends: [2]int{len(f.e.Prompt.Texts) + f.t, (layers+1)*rows - 1},
	}
	for i, j := range f.rows {
		g.Names = append(g.Names, GraphName{
			f.label(j), j == f.g.Cut.Source || j == f.g.Cut.Target, f.sinks[j],
		})
		if f.sinks[j] {
			g.Quiet = "edges of sinks"
		}
		if j == f.g.Cut.Target {
			g.Ends[1] = layers*rows + i
		}
	}
	for k := range layers + 1 {
		level, place, has, feeds := len(f.g.Layers), " before "+layerName(0), "", ""
		if k > 0 {
			place, has = " after "+layerName(k-1), " has from: "
		}
		if k < layers {
			level, feeds = f.layers[k], "feeds in "+layerName(k)+": "
			g.Layers = append(g.Layers, f.e.Model.LayerLabel(f.g.Layers[level]))
			if k > 0 && f.layers[k-1] != level-1 {
				g.Gaps = append(g.Gaps, float64(k))
			}
		}
		for i, j := range f.rows {
			strong := k == 0 && j == f.g.Cut.Source || k == layers && j == f.g.Cut.Target
			g.Nodes = append(g.Nodes, GraphNode{
				Column: float64(i) + .5, Level: float64(k), Strong: strong,
				Hidden: !strong && !f.hasNode(level, j), Quiet: f.sinks[j],
				Name: f.placedName(j), Place: place, Has: has, Feeds: feeds, Token: j,
			})
			g.Parts = append(g.Parts, f.parts(k, j))
		}
	}
	add := func(l, u, v int, e GraphEdge) {
		k, a := slices.BinarySearch(f.layers, l)
		i, b := slices.BinarySearch(f.rows, u)
		j, c := slices.BinarySearch(f.rows, v)
		if a && b && c {
			e.From, e.To = k*rows+j, (k+1)*rows+i
			g.Edges = append(g.Edges, e)
		}
	}
	for _, e := range f.edges {
		add(e.l, e.u, e.v, GraphEdge{Width: e.width, Step: f.edgeStep(e), Quiet: f.sinks[e.v]})
	}
	widest := 1.0
	for k := 0; k+1 < len(f.g.Path); k++ {
		l := len(f.g.Layers) - 1 - k
		width := f.g.Width(l, f.g.Path[k], f.g.Path[k+1])
		widest = min(widest, width)
		add(l, f.g.Path[k], f.g.Path[k+1], GraphEdge{Width: min(max(width, .25), 1), Step: -3})
	}
	for _, e := range f.g.Cut.Edges {
		add(slices.Index(f.g.Layers, e.Layer), e.Target, e.Source, GraphEdge{Dashed: true})
	}
	g.Keys = []GraphKey{
		{"edge, as thick as it is wide", GraphEdge{Width: .5, Step: 4}},
		{"widest path, " + fixed(widest, 2), GraphEdge{Width: .3, Step: -3}},
		{"minimum cut, " + edges(len(f.g.Cut.Edges), ""), GraphEdge{Dashed: true}},
	}
	return g
}

// parts are what token j has at level k from the tokens shown.
func (f *flowPage) parts(k, j int) (parts []GraphPart) {
	for i, v := range f.rows {
		if k > 0 {
			parts = append(parts, GraphPart{
				(k-1)*len(f.rows) + i, min(f.g.Width(f.layers[k-1], j, v), 1),
			})
		}
	}
	return parts
}

// hasNode reports whether a token has a node before layer Layers[l], or after the last one: if the
// target reaches it, or an edge of the minimum cut, which may be narrower, begins or ends there.
func (f *flowPage) hasNode(l, token int) bool {
	return f.reach[l][token] >= leastWidth || f.cutEnds[[2]int{l, token}]
}

// edgeStep returns the colour of an edge, 0 if it leads to a sink; the narrowest have the first
// one.
func (f *flowPage) edgeStep(e flowEdge) int {
	if f.sinks[e.v] {
		return 0
	}
	return max(stepOf(e.width), 1)
}

// label returns the name of a token with the flow from it.
func (f *flowPage) label(j int) string {
	return strings.TrimSpace(f.axisName(j) + " " + f.flowFrom(j))
}

// answer returns the widest path in words, or why the flows say nothing, and the numbers of it.
func (f *flowPage) answer() (say, facts Phrase) {
	path := f.g.Path
	target := f.wordOf(f.g.Cut.Target)
	if !f.e.Model.Reads() {
		target = f.wordOf(len(f.e.Prompt.Texts) + f.t)
	}
	silence := f.silence()
	switch {
	case silence != "":
		say.Say(silence)
	case len(path) == 0:
		say.Say("No path leads to ")
		say = append(say, target...)
	default:
		say.Say("The widest path to ")
		say = append(say, target...)
		say.Say(" comes from ")
		say = append(say, f.wordOf(path[len(path)-1])...)
		var over []Phrase
		for k := len(path) - 2; k > 0; k-- {
			if j := path[k]; j != path[k+1] && j != f.g.Cut.Target && len(over) < mostNamed {
				over = append(over, f.wordOf(j))
			}
		}
		if len(over) > 0 {
			say.Say(" by way of ")
			say.join(over)
		}
	}
	_, _, chance := f.predictionText(f.t)
	facts.Say(fmt.Sprintf("at most %s flows from %s to %s", fixed(f.g.Cut.Flow, 3),
		f.placedName(f.g.Cut.Source), f.placedName(f.g.Cut.Target)))
	if chance != "" {
		facts.Say(" · probability " + chance)
	}
	return say, facts
}

// sentences say what the picture shows; before that, why the flows say nothing about the token.
func (f *flowPage) sentences() []string {
	_, what, chance := f.predictionText(f.t)
	target, source := f.placedName(f.g.Cut.Target), f.placedName(f.g.Cut.Source)
	first := fmt.Sprintf("At most %s flows from %s to %s, which predicts “%s” %s",
		fixed(f.g.Cut.Flow, 3), source, target, what, chance)
	if f.e.Model.Reads() && f.e.Steps[f.t].Unscored {
		first = fmt.Sprintf("At most %s flows from %s to %s", fixed(f.g.Cut.Flow, 3), source,
			target)
	}
	all := []string{strings.TrimSpace(first), f.pathSentence(), f.cutSentence()}
	if silence := f.silence(); silence != "" {
		all = append([]string{silence}, all...)
	}
	return all
}

// silence says why the flows to the target say nothing about the token, by the check by which other
// pictures do not colour a row; see [attribution.Explanation.Silent]. It is "" if they may.
func (f *flowPage) silence() string {
	r := f.e.Methods["flow"]
	if r == nil || misshapen(f.e, r) != "" || f.t >= r.Shape[0] || !sinksKnown(f.e, "flow") {
		return ""
	}
	reasons, err := f.e.Silent("flow", attribution.ShownLevel)
	if err != nil || reasons[f.t] == "" {
		return ""
	}
	_, what, _ := f.predictionText(f.t)
	return fmt.Sprintf("The flows say nothing about “%s”: %s.", what, Visible(reasons[f.t], 200))
}

// pathSentence names the tokens of the widest path from the source up, with the layers where it
// goes to another token.
func (f *flowPage) pathSentence() string {
	path, L := f.g.Path, len(f.g.Layers)
	if len(path) == 0 {
		return "No path leads from the source to the target."
	}
	narrowest := 1.0
	var b strings.Builder
	b.WriteString(f.placedName(path[L]))
	for k := L; k > 0; k-- {
		l := L - k
		w := f.g.Width(l, path[k-1], path[k])
		if narrowest = min(narrowest, w); path[k-1] != path[k] {
			fmt.Fprintf(&b, " → %s in %s (%s)", f.placedName(path[k-1]),
				f.e.Model.LayerName(f.g.Layers[l]), fixed(w, 3))
		}
	}
	return fmt.Sprintf("Widest path, %s: %s.", fixed(narrowest, 3), b.String())
}

// cutSentence says where the flow is limited.
func (f *flowPage) cutSentence() string {
	cut := f.g.Cut.Edges
	layers, targets := map[int]bool{}, map[int]bool{}
	for _, e := range cut {
		layers[e.Layer], targets[e.Target] = true, true
	}
	s := fmt.Sprintf("Minimum cut, %s: %s", fixed(f.g.Cut.Flow, 3), edges(len(cut), ""))
	switch {
	case len(cut) == 0:
		return "Nothing flows, so there is nothing to cut."
	case len(layers) == 1 && len(targets) == 1 && targets[f.g.Cut.Target] &&
		layers[f.g.Cut.Layer]:
		return s + fmt.Sprintf(" into %s in %s, the last one: the target itself limits the "+
			"flow, and nothing below does.", f.placedName(f.g.Cut.Target),
			f.e.Model.LayerName(f.g.Cut.Layer))
	}
	sorted := slices.Clone(cut)
	slices.SortStableFunc(sorted, func(a, b attribution.CutEdge) int {
		return cmp.Compare(b.Width, a.Width)
	})
	var names []string
	for _, e := range sorted[:min(len(sorted), named)] {
		names = append(names, fmt.Sprintf("%s → %s in %s (%s)", f.edgeEnd(e.Source),
			f.edgeEnd(e.Target), f.e.Model.LayerName(e.Layer), fixed(e.Width, 3)))
	}
	more := ""
	if left := len(sorted) - len(names); left > 0 {
		more = fmt.Sprintf(" and %s more", thousands(left))
	}
	return s + ", " + strings.Join(names, ", ") + more + "."
}

// edgeEnd returns the name of a token of the cut, which may come from a file that somebody edited.
func (f *flowPage) edgeEnd(j int) string {
	if j < 0 || j >= f.g.Tokens {
		return fmt.Sprintf("token %d", j)
	}
	return f.placedName(j)
}

// flowFrom returns the flow from token j to the target, "" for a generated token that has none.
func (f *flowPage) flowFrom(j int) string {
	r := f.e.Methods["flow"]
	if r == nil || misshapen(f.e, r) != "" || f.t >= r.Shape[0] {
		return ""
	}
	if row := r.Row(f.t, r.Level(f.t)); j < len(row) {
		return fixed(row[j], 2)
	}
	return ""
}

// partly says what the picture leaves out, "" if nothing.
func (f *flowPage) partly() string {
	s := ""
	reachable := f.g.Cut.Target + 1
	if f.e.Model.Bidirectional {
		reachable = f.g.Tokens
	}
	if len(f.rows) < reachable {
		s += fmt.Sprintf(" Of %s tokens, those %d are shown that the target reaches on the widest "+
			"edges.", thousands(reachable), len(f.rows))
	}
	if len(f.layers) < len(f.g.Layers) {
		s += fmt.Sprintf(" Of %d layers, those %d are shown that have the widest edges between "+
			"tokens.", len(f.g.Layers), len(f.layers))
	}
	if f.sinkEdges && slices.Contains(f.sinks, true) {
		s += " Grey edges lead to sinks."
	}
	if f.narrow > 0 {
		s += fmt.Sprintf(" %s narrower than %s %s not drawn.", edges(f.narrow, ""),
			fixed(leastWidth, 2), message.IsOrAre(f.narrow))
	}
	if f.hidden > 0 {
		lead := "lead"
		if f.hidden == 1 {
			lead = "leads"
		}
		s += fmt.Sprintf(" %s %s to what is not shown.", edges(f.hidden, "wider "), lead)
	}
	return s
}

// edges says how many edges of a kind there are: "1 wider edge", "2,000 wider edges".
func edges(n int, kind string) string {
	if n == 1 {
		return "1 " + kind + "edge"
	}
	return thousands(n) + " " + kind + "edges"
}

// flowMarks explains the marks.
const flowMarks = "Columns: tokens, each with the flow from it. Layers from the bottom up. Thick " +
	"line of another colour: the widest path; dashed: the minimum cut; other lines: edges, as " +
	"thick as they are wide."

const flowLegend = "An edge leads from a token before a layer to a token after it and is as " +
	"wide as the attention of the layer, averaged over heads, with the residual added. The flow " +
	"is how much fits through all edges together between one token before the first layer and " +
	"the target after the last one. It says how much could come from there at most, and not how " +
	"much does; flows do not add up. The widest path is the single way whose narrowest edge is " +
	"the widest. The minimum cut is the edges that the flow fills: without them nothing would " +
	"flow."
