package transformer

import (
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/models/spec"
)

// projectLatent projects u [B,N,D] as [spec.Latent] describes.
func (b *Block) projectLatent(t *spec.Latent, u *Node) projections {
	heads, dims := b.spec.Heads, u.Shape().Dimensions
	query := u
	if t.Queries > 0 {
		query = b.latent(t, u, "query-latent")
	}
	query = b.linear(query, "query-up")
	c := b.latent(t, u, "latent")
	own := Reshape(b.linear(c, "key-up"), dims[0], dims[1], heads, -1) // [B,N,H,E-R]
	shared := InsertAxes(b.linear(u, "shared-key"), 2)                 // [B,N,1,R]
	shared = BroadcastToDims(shared, dims[0], dims[1], heads, t.Shared)
	key := Reshape(Concatenate([]*Node{shared, own}, -1), dims[0], dims[1], -1)
	return projections{
		query: query, key: key, value: b.linear(c, "value-up"),
		queryContent: query, // there are no biases
	}
}

// latent is the projection of that name of u [...,D], after its norm.
func (b *Block) latent(t *spec.Latent, u *Node, name string) *Node {
	return b.relevance.norm(latentNorm(t), b.linear(u, name), b.w.in(name+"-norm."))
}

// latentNorm has the norm of latents.
func latentNorm(t *spec.Latent) *spec.Spec {
	return &spec.Spec{RMS: true, NormEpsilon: t.Epsilon}
}
