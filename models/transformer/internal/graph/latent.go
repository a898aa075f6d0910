package graph

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// projectLatent projects u [B,N,D] as [spec.Latent] describes.
func (l *Layer) projectLatent(t *spec.Latent, u *Node) projections {
	heads, dims := l.Spec.Heads, u.Shape().Dimensions
	query := u
	if t.Queries > 0 {
		query = l.latent(t, u, "query-latent")
	}
	query = l.Linear(query, "query-up")
	c := l.latent(t, u, "latent")
	own := Reshape(l.Linear(c, "key-up"), dims[0], dims[1], heads, -1) // [B,N,H,E-R]
	shared := InsertAxes(l.Linear(u, "shared-key"), 2)                 // [B,N,1,R]
	shared = BroadcastToDims(shared, dims[0], dims[1], heads, t.Shared)
	key := Reshape(Concatenate([]*Node{shared, own}, -1), dims[0], dims[1], -1)
	return projections{
		query: query, key: key, value: l.Linear(c, "value-up"),
		queryContent: query, // there are no biases
	}
}

// latent is the projection of that name of u [...,D], after its norm.
func (l *Layer) latent(t *spec.Latent, u *Node, name string) *Node {
	return l.relevance.norm(LatentNorm(t), l.Linear(u, name), l.W.In(name+"-norm."))
}

// LatentNorm has the norm of latents.
func LatentNorm(t *spec.Latent) *spec.Spec {
	return &spec.Spec{RMS: true, NormEpsilon: t.Epsilon}
}
