// Package evaluate measures how far a method of attribution can be trusted: how the prediction
// changes without the tokens that it ranks first, whether it finds known evidence, whether it
// agrees with other methods, and whether it changes if the model's weights are random.
//
//	opts := evaluate.Options{Methods: []string{"rollout", "gradient-x-input"}}
//	report, err := evaluate.Run(ctx, model, cases, opts)
//
// Every measure is a function of a row of scores, one number for each token of a prompt, of which
// more means more important. Signed scores count by their size if a measure ranks tokens by
// importance. Every report includes random scores for comparison.
//
// The measures come from the literature, and its choices are options: what replaces a removed token
// ([scorer.Options]), which quantity is measured, which parts are removed. No measure is the
// truth: without a token the model reads a text unlike those it was trained on, and attention may
// carry evidence through other positions. Only evidence that is known by construction is a ground
// truth. It says which tokens should matter, and not which tokens the model uses.
package evaluate
