package render

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strings"
)

// id returns a name for what is explained: by which model, of which text.
func (b *page) id() string {
	what := b.e.Model.Name + "\x00" + b.e.Model.Hash + "\x00" + b.e.Prompt.Text
	if b.comparison != nil {
		what += "\x00" + strings.Join(b.comparison.names[:], "\x00")
	}
	return hashOf(what)
}

// hashOf returns the name of a picture, by which a script knows it again, from what it shows.
func hashOf(what string) string {
	sum := sha256.Sum256([]byte(what))
	return hex.EncodeToString(sum[:4])
}

// linear returns what the rows of a method count: the value, or for lifts its logarithm.
func (v *view) linear(x float64) float64 {
	if v.top.lift {
		return min(max(math.Log2(x), -12), 12)
	}
	return x
}

// unlinear returns the value that a row counts.
func (v *view) unlinear(x float64) float64 {
	if v.top.lift {
		return math.Exp2(x)
	}
	return x
}
