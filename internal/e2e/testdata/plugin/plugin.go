// Package plugin brings a mixing, an aggregation and a scorer of its own to Headwater: copy it, rename it, and put in yours. A program
// that imports it for its side effects has them by name, alone and in any pair with those that are built in:
//
//	import _ "example.com/plugin"
//
//	attribution.Explain(ctx, model, prompt, attribution.Options{Methods: []string{"average", "value-norms+rollout", "neighbor"}})
//
// Each stands in a file of its own; plugin_test.go holds it to the contract that the built-in ones keep. Outside this repository, leave
// the replace directive out of go.mod.
package plugin

import "github.com/headwater-ml/headwater/attribution"

// A name for a pair is a method, with the options that belong to it.
func init() {
	attribution.RegisterMethod(attribution.Method{
		Name: "average", Mixing: "value-norms", Aggregation: "average",
		Summary: "attention times the length of what is attended to, averaged over the layers so far",
		Formula: "mean over k ≤ l of rownorm(α_k[t,s]·‖v_k,s‖)", Paper: "none; after Kobayashi et al. 2020, §3",
		Cost: "nothing beyond generating",
	})
}
