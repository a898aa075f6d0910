package export

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// leastLink is the width below which an edge is left out of a graph.
const leastLink = 0.02

// npGraph is an attribution graph as Neuronpedia and circuit-tracer read it: JSON schema "Anthropic
// Attribution Graph" 1.0.0 (apps/webapp/app/api/graph/graph-schema.json of hijohnnylin/neuronpedia)
// and circuit_tracer/frontend/graph_models.py of decoderesearch/circuit-tracer.
type npGraph struct {
	Metadata map[string]any `json:"metadata"`
	QParams  map[string]any `json:"qParams"`
	Nodes    []npNode       `json:"nodes"`
	Links    []npLink       `json:"links"`
}

type npNode struct {
	ID              string   `json:"node_id"`
	Feature         int      `json:"feature"`
	Layer           string   `json:"layer"`
	Position        int      `json:"ctx_idx"`
	Type            string   `json:"feature_type"`
	Probability     float64  `json:"token_prob"`
	IsTarget        bool     `json:"is_target_logit"`
	Run             int      `json:"run_idx"`
	ReversePosition int      `json:"reverse_ctx_idx"`
	JSID            string   `json:"jsNodeId"`
	Label           string   `json:"clerp"`
	Influence       *float64 `json:"influence"`
	Activation      *float64 `json:"activation"`
}

type npLink struct {
	Source string  `json:"source"`
	Target string  `json:"target"`
	Weight float64 `json:"weight"`
	// Cut reports whether the edge is in the minimum cut; readers of the format skip it.
	Cut bool `json:"cut,omitempty"`
}

// writeNeuronpedia writes a flow graph as an attribution graph. Its nodes are the tokens, the
// residual stream after each layer where the flow to the target can pass, and the prediction. Links
// go from source to target and weigh Â. The nodes of the widest path are pinned.
func (o Options) writeNeuronpedia(w io.Writer, e *attribution.Explanation, made string) error {
	g, _ := o.Recorded[render.FlowRecord.Name].(*attribution.FlowGraph)
	if g == nil {
		_, err := Neuronpedia.Shown(render.Show{}).Picture(e, o.Recorded)
		return err
	}
	token := 0
	if o.Token != nil {
		token = *o.Token
	}
	texts := graphTexts(e, g)
	if token >= len(e.Steps) || len(texts) != g.Tokens || g.Cut == nil {
		return pkg.Errorf("the graph has %d tokens and the explanation %d; they do not fit",
			g.Tokens, len(texts))
	}
	b := npBuilder{g: g, texts: texts, ids: append([]int{}, e.Prompt.IDs...)}
	for _, s := range e.Steps {
		b.ids = append(b.ids, s.ID)
	}
	b.reach()
	b.nodes()
	b.links()
	logit := b.predicted(e.Steps[token])
	pinned := []string{}
	for k := len(g.Path) - 1; k >= 0; k-- {
		pinned = append(pinned, b.id(len(g.Layers)-k, g.Path[k]))
	}
	tokens := []string{}
	for _, t := range texts {
		tokens = append(tokens, strings.ToValidUTF8(t, "\ufffd"))
	}
	b.out.QParams = map[string]any{
		"pinnedIds": append(pinned, logit.ID), "supernodes": []any{}, "linkType": "both",
		"clickedId": logit.ID, "sg_pos": "",
	}
	b.out.Metadata = map[string]any{
		"slug": fmt.Sprintf("headwater-flow-%d-%d", g.Cut.Source, g.Cut.Target),
		"scan": modelName(e), "transcoder_list": []any{}, "prompt_tokens": tokens,
		"prompt":         strings.ToValidUTF8(strings.Join(texts, ""), "\ufffd"),
		"node_threshold": nil, "schema_version": 1,
		"info": map[string]any{
			"description": fmt.Sprintf("Attention flow: links weigh the attention of a layer, "+
				"averaged over heads, half of it the residual. The flow from token %d to token %d "+
				"is %.6g.", g.Cut.Source, g.Cut.Target, g.Cut.Flow),
			"generator": map[string]any{"name": "headwater", "version": o.Made.Version},
		},
		"pruning_settings": map[string]any{"edge_threshold": leastLink},
		madeKey:            json.RawMessage(made),
	}
	return writeLine(w, b.out)
}

// predicted adds the node of the prediction, which the last layer's node of the target leads to.
func (b *npBuilder) predicted(step attribution.GeneratedToken) npNode {
	layer := strconv.Itoa(len(b.g.Layers) + 1)
	// The reader divides the label at "(p=".
	label := strings.ReplaceAll(strings.ToValidUTF8(step.Text, "\ufffd"), "(p=", "(p =")
	logit := npNode{
		ID:      fmt.Sprintf("%s_%d_%d", layer, step.ID, b.g.Cut.Target),
		Feature: step.ID, Layer: layer, Position: b.g.Cut.Target, Type: "logit",
		Probability: step.Probability, IsTarget: true,
		JSID:  fmt.Sprintf("L_%d-%d", step.ID, b.g.Cut.Target),
		Label: fmt.Sprintf("Output %q (p=%.3f)", label, step.Probability),
	}
	top := b.id(len(b.g.Layers), b.g.Cut.Target)
	b.out.Nodes = append(b.out.Nodes, logit)
	b.out.Links = append(b.out.Links, npLink{Source: top, Target: logit.ID, Weight: 1})
	return logit
}

// npBuilder builds the nodes and links of a graph.
type npBuilder struct {
	g     *attribution.FlowGraph
	texts []string
	ids   []int
	// passes is, [L+1,T], whether a flow to the target passes a token after k layers.
	passes []bool
	out    npGraph
}

// reach finds the nodes from which the target can be reached over links that are not left out.
func (b *npBuilder) reach() {
	L, T := len(b.g.Layers), b.g.Tokens
	b.passes = make([]bool, (L+1)*T)
	b.passes[L*T+b.g.Cut.Target] = true
	for l := L - 1; l >= 0; l-- {
		for u := range T {
			if !b.passes[(l+1)*T+u] {
				continue
			}
			for v := range T {
				if b.g.Width(l, u, v) >= leastLink {
					b.passes[l*T+v] = true
				}
			}
		}
	}
}

// id names the node of a token after some layers: E_id_position before the first one.
func (b *npBuilder) id(level, token int) string {
	if level == 0 {
		return fmt.Sprintf("E_%d_%d", b.ids[token], token)
	}
	return fmt.Sprintf("%d_%d_%d", b.g.Layers[level-1], token, token)
}

func (b *npBuilder) nodes() {
	for level := range len(b.g.Layers) + 1 {
		for v := range b.g.Tokens {
			if !b.passes[level*b.g.Tokens+v] {
				continue
			}
			text := strings.ToValidUTF8(b.texts[v], "\ufffd")
			n := npNode{
				ID: b.id(level, v), Feature: v, Layer: "E", Position: v, Type: "embedding",
				JSID: fmt.Sprintf("E_%d-%d", b.ids[v], v), Label: text,
			}
			if level > 0 {
				layer := b.g.Layers[level-1]
				n.Layer, n.Type = strconv.Itoa(layer), "residual stream"
				n.JSID = fmt.Sprintf("%d_%d-0", layer, v)
				n.Label = fmt.Sprintf("%s after layer %d", text, layer)
			}
			b.out.Nodes = append(b.out.Nodes, n)
		}
	}
}

func (b *npBuilder) links() {
	cut := map[[3]int]bool{}
	for _, e := range b.g.Cut.Edges {
		cut[[3]int{e.Layer, e.Target, e.Source}] = true
	}
	T := b.g.Tokens
	b.out.Links = []npLink{}
	for l, layer := range b.g.Layers {
		for u := range T {
			for v := range T {
				width := b.g.Width(l, u, v)
				if width >= leastLink && b.passes[(l+1)*T+u] {
					b.out.Links = append(b.out.Links, npLink{
						b.id(l, v), b.id(l+1, u), width, cut[[3]int{layer, u, v}],
					})
				}
			}
		}
	}
}
