package without

import "github.com/headwater-ml/headwater/attribution"

// KeptTokens returns the place in another prompt of each token of a prompt, and what is wrong with
// the part that the other one lacks.
func KeptTokens(whole, rest *attribution.Prompt, part string, removed int) ([]int, string) {
	p, wrong := parsePart(part)
	return keptTokens(whole, rest, p, removed), wrong
}
