// Package evaluate measures how far a method of attribution can be trusted: how the prediction
// changes without the tokens that it ranks first, whether it finds known evidence, whether it
// agrees with other methods, and whether it changes if the model's weights are random.
//
//	cases := []evaluate.Case{{Prompt: "the keys to the cabinet", Evidence: [][2]int{{4, 8}}}}
//	opts := evaluate.Options{Methods: []string{"rollout", "gradient-x-input"}}
//	report, err := evaluate.Run(ctx, model, cases, opts)
//	if err != nil {
//		return err
//	}
//	for _, method := range report.Ranked("average precision") {
//		s, _ := report.At(report.Groups[0], method, "average precision")
//		fmt.Printf("%s %.2f [%.2f, %.2f]\n", method, s.Mean, s.Low, s.High)
//	}
//
// # Parts
//
//   - [Run] measures methods on cases and returns a [Report]. A [Case] is a text, the prediction to
//     explain, and what is known about it.
//   - [Align] compares a row of scores with known evidence; [Chance] is the level of a method that
//     knows nothing.
//   - [AlignWords] links the words of translations with those of their sources, and
//     [AlignmentErrorRate] compares links with those that are known.
//   - [AlignLayers] does so for every layer of every method, and [Prefer] asks which word of a
//     minimal pair a model prefers.
//   - [Probe] measures how well a linear probe reads a label in each hidden state of a model, by
//     the length of an [OnlineCode].
//   - [Faithful] removes tokens in the order of a ranking, and [Faithfulness.Normalize] puts the
//     result on a scale from the worst ranking to the best.
//   - [Spearman] compares rankings with each other.
//   - [Randomize] compares a model with one that has random weights.
//   - A [Change] proves evidence: it replaces words, and the result is a [Proof].
//   - [Summarize] gives the mean of a measure with a confidence interval. All of the above can be
//     used without Run.
//
// Every measure is a function of a row of scores, [T], one number for each token of a prompt, of
// which more means more important. Signed scores count by their size if a measure ranks tokens by
// importance. Every report includes random scores for comparison.
//
// # What a number means
//
// The measures come from the literature, and its choices are options: what replaces a removed token
// ([scorer.Options]), which quantity is measured, which parts are removed. No measure is the
// truth: without a token the model reads a text unlike those it was trained on, and attention may
// carry evidence through other positions. Only evidence that is known by construction is a ground
// truth. It tells which tokens should matter, and not which tokens the model uses.
//
// NaN means that a measure is not defined for a text, such as a correlation with a constant row. A
// [Summary] counts such texts in Skipped and leaves them out of its mean.
//
// # Errors
//
// An error of [Run] names the case by its index, and the report has the cases before it; a later
// run continues from them with [Options.Done]. A [trace.UsageError] means that options or text are
// refused. An error that wraps ctx.Err() means that the caller stopped the run. Other errors come
// from the model, or name what does not fit in the case, such as evidence outside its prompt.
//
// Evidence that its changes do not prove is not an error: the case is counted in [Report.Unproven]
// and not scored.
package evaluate

import "github.com/headwater-ml/headwater/internal/message"

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("evaluate")
