package render_test

import (
	"context"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/gonbext/render/rendertest"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
)

// mixture is a model that says of itself that it has four experts, of which two take each token.
type mixture struct{ *models.Model }

func (m mixture) Info() trace.Info {
	about := m.Model.Info()
	about.Experts = 4
	return about
}

func (m mixture) Trace(
	ctx context.Context, ids []int, taps []trace.Tap,
) ([]trace.Tensor, error) {
	if taps[0] != trace.Experts {
		return m.Model.Trace(ctx, ids, taps)
	}
	routes := trace.Tensor{Shape: []int{m.Info().Layers, len(ids), 2, 2}}
	for i := range m.Info().Layers * len(ids) {
		routes.Data = append(routes.Data, float32(i%4), .75, float32((i+1)%4), .25)
	}
	return []trace.Tensor{routes}, nil
}

// Every registered view keeps the contract of pictures, and those of methods for an encoder too.
func TestViews(t *testing.T) {
	open := func(name string) *models.Model {
		m, err := models.Open(name, models.Options{Backend: "go"})
		testhelp.Must(t, err)
		return m
	}
	tiny, encoder := open("tiny"), open("tiny-mlm")
	for _, kind := range render.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			var m rendertest.Model = tiny
			opts := attribution.Options{MaxTokens: 3}
			switch kind {
			case render.KindExperts:
				m = mixture{tiny}
			case render.KindLayers:
				opts.AllLayers = true
			case render.KindCompare:
				opts.Methods = []string{"raw", "rollout"}
			}
			if other := (render.Show{Kind: kind}).View().Other; other != "" {
				opts.Ask(other, "the key to the cabinet")
			}
			rendertest.View(t, kind, m, "the keys to the cabinet", opts)
			if kind != render.KindExperts && kind != render.KindPatch && kind != render.KindFlow {
				opts.MaxTokens = 0
				rendertest.View(t, kind, encoder, "the [MASK] to the cabinet are here .", opts)
			}
		})
	}
}
