package aggregation

// Lifted returns each value divided by the value that uniform attention has at the same place:
//
//	R̃[t,j] = R[t,j] / R^unif[t,j]
//
// where R^unif comes from the same aggregation, with the same layers and residual, over attention
// 1/n on each of the n sources that a target sees in a layer ([Config.Seen]): t+1 in a decoder, T
// in an encoder. A lift of 1 is explained by the position alone. Abnar and Zuidema 2020 (§5) say
// that in decoders both methods favour early tokens, and propose to divide by the receptive field.
// They give no formula; this one is ours. R^unif grows row by row like R; its closed form is an
// alternating sum that float64 cannot carry beyond some 30 tokens. Where uniform attention gives 0,
// for a source that the target cannot see, the lift is 0.
func Lifted(values, uniform []float64) []float64 {
	out := make([]float64, len(values))
	for i, u := range uniform {
		if u != 0 {
			out[i] = values[i] / u
		}
	}
	return out
}
