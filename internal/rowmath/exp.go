package rowmath

import "math"

// expParts is into how many parts a power of two is divided, in [expTable].
const expParts = 32

// expTable has 2^(i/32).
var expTable = func() (t [expParts]float64) {
	for i := range t {
		t[i] = math.Exp2(float64(i) / expParts)
	}
	return t
}()

// ln 2 / 32 in two parts. The first has so few digits that its product with a whole number below
// 2^21 is exact.
const (
	expStepHigh = 0x1.62e42fefp-6
	expStepLow  = math.Ln2/expParts - expStepHigh
)

// Exp is [math.Exp] with an error of at most 2 units in the last place. It is for long rows: on
// amd64 math.Exp mixes two kinds of vector instructions, and takes up to a hundred times as long
// where a library has left the upper halves of the vector registers in use.
//
//	e^x = 2^(k/32) e^r,  k = round(32 x / ln 2),  |r| ≤ ln 2 / 64
func Exp(x float64) float64 {
	if !(x > -700 && x < 700) { // results without full precision, infinities, NaN
		return math.Exp(x)
	}
	// Adding and subtracting 1.5·2^52 rounds to a whole number.
	const round = 3 << 51
	shifted := x*(expParts/math.Ln2) + round
	whole := shifted - round
	k := int64(whole)
	r := (x - whole*expStepHigh) - whole*expStepLow
	// The next term, r^7/5040, is below 4e-18.
	tail := r + r*r*(1./2+r*(1./6+r*(1./24+r*(1./120+r*(1./720)))))
	part := expTable[k&(expParts-1)]
	power := math.Float64frombits(uint64(1023+k>>5) << 52)
	return (part + part*tail) * power
}
