package methods

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/models"
)

// verdict is where a method ranks the evidence of one text, by the size of its scores.
type verdict string

const (
	found  verdict = "found"  // every piece above all other tokens
	partly verdict = "partly" // the first one above all others, but not every one
	tied   verdict = "tied"   // the best piece equal to the best other token
	behind verdict = "behind" // another token above every piece
	varies verdict = "varies" // found in some texts and partly in others
)

// plantedTol is the difference up to which scores are equal, as a part of the largest score. The
// derivative of norms leaves up to 1e-13 where nothing else does. The smallest effect that does not
// come from rounding is 1e-7: that of a word on the probability of an answer that is nearly 1
// without the word.
const plantedTol = 1e-9

// judge compares scores of <bos> and the words of a text, [T], with its evidence.
func judge(scores []float64, evidence []int) verdict {
	best, worst, other := 0.0, math.Inf(1), 0.0
	for j, s := range scores {
		s = math.Abs(s)
		if slices.Contains(evidence, j-1) {
			best, worst = max(best, s), min(worst, s)
		} else {
			other = max(other, s)
		}
	}
	near := plantedTol * max(best, other)
	switch {
	case worst > other+near:
		return found
	case best > other+near:
		return partly
	case best >= other-near:
		return tied
	}
	return behind
}

// verdicts are what each method says on every text of each circuit, and why. The order is that of
// planted.Circuits: offset, relay, induction, distractor, sum, and; redundant, soft, sink, carry.
var verdicts = []struct {
	methods  string
	verdicts [10]verdict
	reason   string
}{
	{
		"raw",
		[10]verdict{
			found, behind, partly, behind, found, found,
			found, found, behind, behind,
		},
		"one layer's attention names the relay and not what that gathered, in induction the " +
			"answer alone, and where three heads of four read values of zero, their tokens; in sink " +
			"the first word has ¹⁵⁄₁₆ of it",
	},
	{
		"rollout flow flow-normalized",
		[10]verdict{
			tied, tied, tied, behind, behind, behind,
			behind, behind, behind, tied,
		},
		"the residual of ½ gives the last token as much as what it reads, in every layer, " +
			"although no head reads its own word: of two layers 4 tokens have ¼ each; heads that " +
			"share evidence are halves of a half. Values are not seen at all (distractor)",
	},
	{
		"value-zeroing value-zeroing-euclidean value-zeroing-final-norm norms",
		[10]verdict{
			found, behind, partly, found, found, found,
			found, found, found, behind,
		},
		"a value of zero counts for nothing, and the token's own, which no head reads, neither; " +
			"but it is one layer, which stops at the relay. In sink that is the layer that wrote",
	},
	{
		"value-zeroing-rollout",
		[10]verdict{
			found, found, partly, found, found, found,
			found, found, tied, found,
		},
		"no residual is added, and only values move an output: it follows the route exactly. In " +
			"induction it goes on from the answer to the place before it, which told the answer " +
			"where it stands, and loses the answer itself: as it does not read itself and no " +
			"residual counts, its row is the token before it. In sink, layers that read nothing but " +
			"a value of zero pass nothing on: every share is 0",
	},
	{
		"norms-residual norms-residual-norm globenc alti",
		[10]verdict{
			behind, behind, partly, behind, behind, behind,
			behind, behind, behind, behind,
		},
		"the last token keeps its word and its position, two features beside the one that it " +
			"reads, and they count although nothing reads them; in induction the last token is " +
			"evidence itself",
	},
	{
		"direct",
		[10]verdict{
			found, behind, partly, found, found, tied,
			found, found, found, behind,
		},
		"what attention read and wrote into the logit is counted where it was read: in relay and " +
			"carry that is the carrier, in induction the answer alone. In the and attention " +
			"wrote nothing into the logit",
	},
	{
		"alti-logit",
		[10]verdict{
			found, behind, partly, found, found, tied,
			found, found, found, found,
		},
		"only what is written into the logit counts, but below the last layer it is followed by " +
			"alti, which gives the relay most of its own stream, and the carrier, whose message is " +
			"larger than that, the message. In the and all of the logit is written by the " +
			"feed-forward part, which is nobody's: every score is 0",
	},
	{
		"gradient-x-input attn-lrp decompx",
		[10]verdict{
			found, found, partly, found, found, found,
			found, found, found, found,
		},
		"what adds to the logit is found through any layers. In induction that is the answer " +
			"alone: attention is all or nothing, so that its derivative is 0, and decompx holds " +
			"it fixed: what said where to look has no part",
	},
	{
		"gradient",
		[10]verdict{
			tied, tied, partly, found, partly, found,
			behind, varies, found, tied,
		},
		"the derivative by the last token's feature of the answer is as steep as that by the " +
			"word of the evidence, although no embedding has that feature: only the input says " +
			"so. Where other words would add as much in the evidence's place, or attention " +
			"moves, that is steeper. In soft the last token's position moves attention between " +
			"words of unequal votes, and where they are equal it does not",
	},
	{
		"chefer",
		[10]verdict{
			found, found, partly, found, partly, found,
			found, found, found, found,
		},
		"attention times its gradient goes through layers, and the identity gives the last token " +
			"a 1. It drops what is negative, and so the word that speaks against the answer",
	},
	{
		"gradient-rollout",
		[10]verdict{
			found, found, partly, found, partly, found,
			found, found, found, found,
		},
		"as chefer: beside logits of 16, half of the identity is little",
	},
	{
		"occlusion",
		[10]verdict{
			found, found, found, found, found, found,
			tied, found, found, found,
		},
		"taking a token away is what evidence is defined by, if each alone is needed; of two of " +
			"which either is enough it finds neither, and every score is 0",
	},
	{
		"integrated-gradients",
		[10]verdict{
			found, found, found, found, found, found,
			found, found, found, found,
		},
		"on the way from an embedding of zeros attention is not yet all or nothing, so that what " +
			"says where to look gets its part, and in induction the most: the probability jumps " +
			"where attention does",
	},
}

// Which evidence each method finds is known, too, and why.
func TestPlantedVerdicts(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every method on every circuit")
	}
	var methods []string
	for _, v := range verdicts {
		methods = append(methods, strings.Fields(v.methods)...)
	}
	for c, circuit := range planted.Circuits() {
		t.Run(circuit.Name, func(t *testing.T) {
			m := fixture.Open(t, circuit.Name, "go")
			for _, text := range circuit.Texts(6, 5) {
				e := explainPlanted(t, m, text, attribution.Options{Methods: methods})
				for _, v := range verdicts {
					for _, method := range strings.Fields(v.methods) {
						scores := e.Methods[method].Row(0, e.Methods[method].Level(0))
						got, want := judge(scores, text.Evidence), v.verdicts[c]
						if want == varies && (got == found || got == partly) {
							continue
						}
						if got != want {
							t.Errorf("%s on %q: evidence %v is %s, want %s: %s\n%.4g",
								method, text.Prompt(), text.Evidence, got, want, v.reason,
								scores)
						}
					}
				}
			}
		})
	}
}

// What each definition must give for a logit that is a sum of two numbers, and for one that is
// max(0, a + b - 1) of two conditions.
func TestPlantedValues(t *testing.T) {
	if testing.Short() {
		t.Skip("runs scorers on many texts")
	}
	for _, c := range []struct {
		circuit, method string
		// want are the scores of the two words, of which the first stands farther back.
		want   func(first, second float64) [2]float64
		tol    float64
		reason string
	}{
		{"planted-sum", "gradient-x-input", itself, 1e-5, "the logit is linear in the embedding"},
		{"planted-sum", "integrated-gradients", itself, 1e-5, "the derivative is the same all the way"},
		{"planted-sum", "occlusion", itself, 1e-5, "without a word its number is missing"},
		{"planted-sum", "alti-logit", itself, 1e-5, "attention wrote both numbers into the logit"},
		{"planted-sum", "decompx", itself, 1e-5, "attention is a number, and there are no biases"},
		{"planted-sum", "attn-lrp", times(.5, .5), 1e-5, "half of attention × value is the attention's, which goes to positions and is lost where softmax is flat"},
		{"planted-and", "gradient-x-input", times(16, 16), 1e-5, "both slopes are 16, so that the scores add up to twice the logit"},
		{"planted-and", "occlusion", times(16, 16), 1e-5, "without either nothing is left: what both do together is counted twice"},
		{"planted-and", "integrated-gradients", times(8, 8), .5, "the slope is 16 on the second half of the way; 32 points meet its edge roughly"},
		{"planted-and", "decompx", times(8, 8), 1e-5, "the bias of -1 is shared by size, half each"},
		{"planted-and", "attn-lrp", times(8, 8), 1e-5, "half of 16 each; what attention loses and what the bias takes cancel"},
		{"planted-and", "alti-logit", times(0, 0), 1e-5, "the feed-forward part wrote all of it"},
	} {
		m := fixture.Open(t, c.circuit, "go")
		circuit, err := planted.Lookup(c.circuit)
		must(t, err)
		for _, text := range circuit.Texts(4, 9) {
			opts := attribution.Options{Methods: []string{c.method}, Scoring: scorer.Options{Quantity: trace.Logit}}
			scores := explainPlanted(t, m, text, opts).Methods[c.method].Row(0, 0)
			first, second := 1., 1.
			if c.circuit == "planted-sum" {
				first = planted.Doubt(text.Words[text.Evidence[0]])
				second = planted.Support(text.Words[text.Evidence[1]])
			}
			want := make([]float64, len(scores))
			both := c.want(first, second)
			want[text.Evidence[0]+1], want[text.Evidence[1]+1] = both[0], both[1]
			for j := range scores {
				if !(math.Abs(scores[j]-want[j]) <= c.tol) {
					t.Errorf("%s of %q: token %d has %v, want %v: %s",
						c.method, text.Prompt(), j, scores[j], want[j], c.reason)
				}
			}
		}
	}
}

// What each method gives, by hand, for evidence that is spread, redundant or carried: the logit of
// the answer is 16 except in planted-soft, and a score is what of it each token gets.
func TestPlantedParts(t *testing.T) {
	if testing.Short() {
		t.Skip("runs scorers on many texts")
	}
	// A score of attention such as 256 + ln 2 is rounded in float32, and with it the share.
	const tol = 1e-3
	for _, c := range []struct {
		circuit, method string
		// at are shares by how many places before the last word they are; nil for those of votes.
		at     map[int]float64
		reason string
	}{
		{"planted-relay", "direct", map[int]float64{2: 16}, "the relay is what is read"},
		{"planted-relay", "alti-logit", map[int]float64{2: 16 * 2. / 3, 5: 16 / 3.}, "of three features of the relay's stream, one is the evidence's"},
		{"planted-carry", "direct", map[int]float64{2: 16}, "the carrier is what is read"},
		{"planted-carry", "alti-logit", map[int]float64{2: 16 / 3., 5: 16 * 2. / 3}, "the message is 4 of the 6 features' sizes in the carrier's stream"},
		{"planted-soft", "direct", nil, "each vote times its attention, over both heads"},
		{"planted-soft", "alti-logit", nil, "there is no layer below"},
		{"planted-soft", "gradient-x-input", nil, "the logit is linear in the embedding"},
		{"planted-soft", "occlusion", nil, "without a word its vote is missing"},
	} {
		m := fixture.Open(t, c.circuit, "go")
		circuit, err := planted.Lookup(c.circuit)
		must(t, err)
		for _, text := range circuit.Texts(4, 9) {
			want := make([]float64, len(text.Words)+1)
			last := len(want) - 1
			for back, part := range c.at {
				want[last-back] = part
			}
			if c.at == nil {
				for back, part := range map[int]float64{2: .5, 3: .75, 4: .5, 5: .25} {
					want[last-back] = part * planted.Vote(text.Words[last-1-back])
				}
			}
			checkParts(t, m, text, c.method, want, tol, c.reason)
		}
	}
	for _, c := range []struct {
		circuit, method string
		each            float64 // of every piece of evidence; other tokens have 0
		reason          string
	}{
		{"planted-redundant", "direct", 8, "half of the attention each"},
		{"planted-redundant", "alti-logit", 8, "half of the attention each"},
		{"planted-redundant", "occlusion", 0, "without one, all attention is on the other"},
		{"planted-sink", "direct", 16, "¹⁄₁₆ of the attention, on a value 16 times as large"},
		{"planted-sink", "alti-logit", 16, "in the layer below, all of its stream is its own"},
		{"planted-sink", "occlusion", 16, "without it, all attention is on a value of zero"},
	} {
		m := fixture.Open(t, c.circuit, "go")
		circuit, err := planted.Lookup(c.circuit)
		must(t, err)
		for _, text := range circuit.Texts(4, 9) {
			want := make([]float64, len(text.Words)+1)
			for _, i := range text.Evidence {
				want[i+1] = c.each
			}
			checkParts(t, m, text, c.method, want, tol, c.reason)
		}
	}
}

// checkParts compares the scores of a method for the logit of the answer with want, [T].
func checkParts(
	t *testing.T, m *models.Model, text planted.Text, method string, want []float64, tol float64,
	reason string,
) {
	t.Helper()
	opts := attribution.Options{
		Methods: []string{method}, Scoring: scorer.Options{Quantity: trace.Logit},
	}
	res := explainPlanted(t, m, text, opts).Methods[method]
	for j, got := range res.Row(0, res.Level(0)) {
		if !(math.Abs(got-want[j]) <= tol) {
			t.Errorf("%s of %q: token %d has %v, want %v: %s", method, text.Prompt(), j, got,
				want[j], reason)
		}
	}
}

func itself(first, second float64) [2]float64 { return [2]float64{first, second} }

// times returns multiples of both.
func times(a, b float64) func(first, second float64) [2]float64 {
	return func(first, second float64) [2]float64 { return [2]float64{a * first, b * second} }
}

// Without the residual, which no head of the relay reads, rollout and flow name the evidence and
// nothing else; with half of it, the last token, the relay and what both of them gathered have a
// quarter each.
func TestPlantedResidual(t *testing.T) {
	m := fixture.Open(t, "planted-relay", "go")
	relay, err := planted.Lookup("planted-relay")
	must(t, err)
	for _, residual := range []float64{0, .5} {
		for _, text := range relay.Texts(4, 2) {
			last := len(text.Words)
			want := make([]float64, last+1)
			for _, j := range []int{last, last - 2, last - 3, last - 5} {
				want[j] = .25
			}
			if residual == 0 {
				want = make([]float64, last+1)
				want[last-5] = 1
			}
			e := explainPlanted(t, m, text, attribution.Options{Methods: []string{"rollout", "flow-normalized"}, Residual: &residual})
			for name, r := range e.Methods {
				for j, got := range r.Row(0, r.Top()) {
					if math.Abs(got-want[j]) > 1e-9 {
						t.Errorf("%s with residual %v of %q: token %d has %v, want %v",
							name, residual, text.Prompt(), j, got, want[j])
					}
				}
			}
		}
	}
}

func explainPlanted(
	t *testing.T, m *models.Model, text planted.Text, opts attribution.Options,
) *attribution.Explanation {
	t.Helper()
	opts.Continuation = " " + text.Answer
	e, err := attribution.Explain(t.Context(), m, text.Prompt(), opts)
	must(t, err)
	return e
}
