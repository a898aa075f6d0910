package patch

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// through are what of a head an edge or a path leads into.
var through = [3]trace.Tap{trace.QueryVector, trace.KeyVector, trace.Value}

// ParseReceiver returns the node that a text names: "logits", or a head by its layer and its
// number, "3.1" or "3.1.query" for its query, "3.1.key" or "3.1.value". It returns a
// [trace.UsageError] for another text.
func ParseReceiver(text string) (Node, error) {
	if text == string(LogitsNode) {
		return Node{Kind: LogitsNode}, nil
	}
	parts := append(strings.Split(text, "."), string(trace.QueryVector))
	var numbers [2]int
	ok := len(parts) == 3 || len(parts) == 4 && slices.Contains(through[:], trace.Tap(parts[2]))
	for i := range numbers {
		if ok {
			n, err := strconv.ParseUint(parts[i], 10, 31)
			numbers[i], ok = int(n), err == nil
		}
	}
	if !ok {
		return Node{}, usagef("want logits, or a head by layer and number from 0, such as 3.1 " +
			"for its query, 3.1.key or 3.1.value")
	}
	return Node{
		Kind: HeadNode, Layer: numbers[0], Head: numbers[1], Through: trace.Tap(parts[2]),
	}, nil
}

// checkPath checks the receiver, and sets what it is by default.
func (p *patching) checkPath() error {
	info, to := p.m.Info(), &p.o.Receiver
	switch {
	case to.Kind == "":
		to.Kind = LogitsNode
	case to.Kind == HeadNode && to.Through == "":
		to.Through = trace.QueryVector
	}
	p.r.Receiver = to
	switch {
	case info.EncoderLayers > 0:
		return usagef("%s has two stacks, and a path is one between the heads of one; patch "+
			"another kind of place", info.Name)
	case to.Kind == LogitsNode:
		return nil
	case to.Kind != HeadNode:
		return usagef("the receiver is a %.60q; want a head or the logits", to.Kind)
	case to.Layer < 0 || to.Layer >= info.Layers || to.Head < 0 || to.Head >= info.Heads:
		return usagef("%s %d.%d; %s has layers 0 to %d and heads 0 to %d",
			trace.Called("patch receiver", "head"), to.Layer, to.Head, info.Name, info.Layers-1,
			info.Heads-1)
	case to.Layer == 0:
		return usagef("%s %d.%d reads the embedding alone; a path leads to a head of layer 1 or "+
			"later", trace.Called("patch receiver", "head"), to.Layer, to.Head)
	}
	return known("way into the receiver", to.Through, through[:])
}

// end returns the layer of the receiver: heads before it are senders.
func (p *patching) end() int {
	if p.o.Receiver.Kind == LogitsNode {
		return p.r.Shape[0]
	}
	return p.o.Receiver.Layer
}

// received returns the edits that give the receiver what it has when the change of a sender, an
// edit of its context, reaches it past other heads: path patching (Goldowsky-Dill et al. 2023,
// "Localizing Model Behavior with Path Patching"; Wang et al. 2022, "Interpretability in the
// Wild").
//
// The prompt that is patched is run with the sender's output of the other prompt, while the heads
// of all later layers keep what they have without it; feed-forward parts are computed again. What a
// head receives there, its query, key or value, is set in a second run, in which everything after
// it is computed from the change; the logits are those of the first run. All positions are patched.
// Heads that share a key or a value receive it together.
func (p *patching) received(ctx context.Context, sent trace.Edit) ([]trace.Edit, error) {
	edits, to := []trace.Edit{sent}, p.o.Receiver
	if first := sent.Layers[0] + 1; first < p.end() {
		// The paths share the numbers, which would else be many times those of a run.
		size := len(p.have.Data) / p.have.Shape[0]
		frozen := trace.Edit{
			Tap: sent.Tap, Change: trace.SetValue, Shape: slices.Clone(p.have.Shape),
			Value: p.have.Data[first*size : p.end()*size],
		}
		frozen.Shape[0] = p.end() - first
		for l := first; l < p.end(); l++ {
			frozen.Layers = append(frozen.Layers, l)
		}
		edits = append(edits, frozen)
	}
	if to.Kind == LogitsNode {
		return edits, nil
	}
	out, err := p.m.Run(ctx, p.base, []trace.Tap{to.Through}, slices.Concat(p.o.Edits, edits))
	if err != nil {
		return nil, err
	}
	e := trace.Edit{Tap: to.Through, Layers: []int{to.Layer}, Change: trace.SetValue}
	if out[0].Shape[1] <= to.Head {
		return nil, pkg.Errorf("the tap %s has the shape %v", to.Through, out[0].Shape)
	}
	if e.Heads = []int{to.Head}; to.Through != trace.QueryVector {
		e.Heads = p.m.Info().Sharing(to.Head)
	}
	e, err = e.From(out[0])
	return []trace.Edit{e}, err
}
