package render

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strings"
)

// digits64 are the digits of codes: those of base64.
const digits64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// codeMax is the largest number that two digits of a code hold, with a sign, and wideMax that of
// three.
const (
	codeMax = 2047
	wideMax = 1<<17 - 1
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

// linear returns what the codes of a method count: the value, or for lifts its logarithm.
func (v *view) linear(x float64) float64 {
	if v.top.lift {
		return min(max(math.Log2(x), -12), 12)
	}
	return x
}

// encode returns values as two digits each; see appendCode.
func encode(values []float64) (top float64, digits string) {
	top = topOf(values)
	var b []byte
	for _, x := range values {
		n, known := codeOf(x, top, codeMax)
		b = appendCode(b, n, known, codeMax)
	}
	return top, string(b)
}

// topOf returns the value that codes count to: the largest size, or 1 if there is none.
func topOf(values []float64) (top float64) {
	for _, x := range values {
		if x := math.Abs(x); x > top && !math.IsInf(x, 0) {
			top = x
		}
	}
	if top < 1e-300 {
		top = 1
	}
	return top
}

// codeOf returns how many parts of top, of most, a value has; known is false for NaN.
func codeOf(x, top float64, most int) (n int, known bool) {
	if math.IsNaN(x) {
		return 0, false
	}
	return int(math.Round(min(max(x/top, -1), 1) * float64(most))), true
}

// appendCode appends the digits of a code, two or with wideMax three: 64a + b - 2048 counts parts
// of top, of 2047, and 0 stands for NaN. Three digits count parts of wideMax in the same way.
func appendCode(b []byte, n int, known bool, most int) []byte {
	if n += most + 1; !known {
		n = 0
	}
	if most == wideMax {
		b = append(b, digits64[n>>12])
	}
	return append(b, digits64[n>>6&63], digits64[n&63])
}
