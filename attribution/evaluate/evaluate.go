// Package evaluate says how far a method of attribution can be believed: by what happens to the
// prediction without the tokens that it names, by evidence that is known, by agreement with other
// methods, and by whether it notices that the model's weights are random.
//
//	report, err := evaluate.Run(ctx, model, cases, evaluate.Options{Methods: []string{"rollout", "gradient-x-input"}})
//
// Every measure is a function of a row of scores, one number for each token of a prompt, of which
// more means more important. Scorers with signs are taken by their size where a measure ranks
// tokens by importance. A random line stands beside the methods in every report.
//
// The measures are those of the literature, with its choices as options: which tokens stand in for
// those taken away ([attribution.Scoring]), which quantity is watched, which parts are taken away.
// None of them is the truth: taking a token away gives the model a text that it may never have
// seen, and attention may carry evidence through other positions. Only evidence that is known by
// construction is a ground truth, and it says which tokens should matter and not which the model
// uses.
package evaluate
