package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// defaultFractions are the parts of the data after which an online code trains its probe again
// (Voita and Titov 2020, §2; Mohebbi et al. 2023, §5.3).
var defaultFractions = []float64{.008, .016, .032, .0625, .125, .25, .5, 1}

// Limits of probing.
const (
	maxClasses = 1000
	leastL2    = 1e-3
	mostL2     = 1e6
)

// ProbeOptions are the options of [OnlineCode] and [Probe]. The zero value is the default.
type ProbeOptions struct {
	// Fractions are the parts of the examples at which the code trains its probe again, rising to
	// 1. Default .008, .016, .032, .0625, .125, .25, .5, 1.
	Fractions []float64
	// L2 makes small weights better: L2/2 times their squares is added to the loss, a sum over
	// examples in nats. 1 is the prior that each weight has a variance of 1. It is from 0.001 to
	// 1,000,000. Default 1.
	L2 float64
	// Seed shuffles the examples of [Probe]. Equal seeds give equal orders.
	Seed uint64
	// Specials makes [Probe] put control tokens around the texts.
	Specials trace.Specials
	// OnProgress is called during [Probe]; nil for no calls.
	OnProgress func(trace.Progress)
}

// CodeLength is how long the labels of some examples are when they are sent together with a probe
// that learns them.
type CodeLength struct {
	Examples int `json:"examples"`
	Classes  int `json:"classes"`
	// Nats is the length of the code, and Bits the same in bits: Nats / ln 2.
	Nats float64 `json:"nats"`
	Bits float64 `json:"bits"`
	// Uniform is the length in nats of a code that knows the number of classes alone: N ln K.
	Uniform float64 `json:"uniform_nats"`
	// Compression is Uniform / Nats: 1 says that the features tell a linear probe nothing, more is
	// better. It is NaN for a single class, whose codes have length 0.
	Compression Value `json:"compression"`
	// Blocks are the parts of the code.
	Blocks []CodeBlock `json:"blocks"`
}

// CodeBlock is a part of an online code: examples Begin to End-1, by a probe that was trained on
// the Begin examples before them. The first block has no probe and a uniform code.
type CodeBlock struct {
	Begin int     `json:"begin"`
	End   int     `json:"end"`
	Nats  float64 `json:"nats"`
	// Right counts the examples whose class the probe found most probable; 0 in the first block.
	Right int `json:"right"`
}

// OnlineCode returns the length of the online code of labels given features, with a linear probe:
//
//	L = n_1 ln K - Σ_{b≥2} Σ_{i in block b} ln p_{b-1}(y_i | x_i)
//
// where p_b is a multinomial logistic regression that was trained on all examples up to the end of
// block b (Voita and Titov 2020, §2.2, eq. 3; as in Mohebbi et al. 2023, who use a deeper probe).
// All parts are in nats; the code of Mohebbi et al. has its first block in bits. The blocks end at
// the fractions of the examples, rounded, with at least one example in each; smaller ones are
// joined. The examples are used in the order given, so shuffle them first. Features are divided by
// their standard deviation in the training part, and constant ones are ignored.
//
// features is [N,D], labels [N] with numbers from 0 to K-1. Training minimises the loss in nats
// plus L2/2 times the squared weights, the offsets included, to within 1e-9 nats of the smallest
// loss, and is deterministic. It costs a few hundred times N·D·K multiplications and 8·N·D bytes.
//
// OnlineCode returns a [trace.UsageError] for options out of range, and an error for sizes that do
// not fit, fewer than two examples, a label out of range, a feature that is NaN or infinite, and
// one that wraps ctx.Err().
func OnlineCode(
	ctx context.Context, features []float32, labels []int, classes int, opts ProbeOptions,
) (*CodeLength, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	if err := checkProbed(features, labels, classes); err != nil {
		return nil, err
	}
	n := len(labels)
	width := len(features) / n
	c := &CodeLength{Examples: n, Classes: classes}
	c.Uniform = float64(n) * math.Log(float64(classes))
	begin := 0
	for _, end := range ends(n, opts.Fractions) {
		b := CodeBlock{Begin: begin, End: end}
		if begin == 0 {
			b.Nats = float64(end) * math.Log(float64(classes))
		} else if classes > 1 {
			p, err := trainProbe(ctx, features[:begin*width], labels[:begin], classes, opts.L2)
			if err != nil {
				return nil, err
			}
			b.Nats, b.Right = p.code(features[begin*width:end*width], labels[begin:end])
		} else {
			b.Right = end - begin
		}
		c.Blocks = append(c.Blocks, b)
		c.Nats += b.Nats
		begin = end
	}
	c.Bits = c.Nats / math.Ln2
	c.Compression = undefined
	if c.Nats > 0 {
		c.Compression = Value(c.Uniform / c.Nats)
	}
	return c, nil
}

// complete returns the options with their defaults, or a usage error.
func (o ProbeOptions) complete() (ProbeOptions, error) {
	if o.L2 == 0 {
		o.L2 = 1
	}
	if !(o.L2 >= leastL2 && o.L2 <= mostL2) {
		return o, probeUsage("L2 %v; want a number from %v to %v", o.L2, leastL2, mostL2)
	}
	if o.Fractions == nil {
		o.Fractions = defaultFractions
	}
	before := 0.0
	for _, f := range o.Fractions {
		if !(f > before && f <= 1) {
			return o, probeUsage("fractions %v; want rising numbers above 0, the last 1",
				o.Fractions)
		}
		before = f
	}
	if before != 1 {
		return o, probeUsage("fractions %v; want rising numbers above 0, the last 1", o.Fractions)
	}
	return o, nil
}

func probeUsage(format string, args ...any) error {
	return &trace.UsageError{Package: "evaluate", Reason: fmt.Sprintf(format, args...)}
}

// checkProbed returns an error if features and labels do not fit.
func checkProbed(features []float32, labels []int, classes int) error {
	n := len(labels)
	switch {
	case n < 2:
		return pkg.Errorf("%d labelled examples; a code needs 2 or more", n)
	case len(features) == 0 || len(features)%n != 0:
		return pkg.Errorf("%d numbers of features for %d labels; want [N,D], as many "+
			"for each label", len(features), n)
	case classes < 1 || classes > maxClasses:
		return pkg.Errorf("%d classes; want 1 to %d", classes, maxClasses)
	}
	for i, y := range labels {
		if y < 0 || y >= classes {
			return pkg.Errorf("label %d of example %d; there are %d classes, from 0 to "+
				"%d", y, i, classes, classes-1)
		}
	}
	if k := slices.IndexFunc(features, rowmath.NotFinite[float32]); k >= 0 {
		width := len(features) / n
		return pkg.Errorf("feature %d of example %d is %v; want finite numbers",
			k%width, k/width, features[k])
	}
	return nil
}

// ends returns where the blocks of n examples end, rising to n.
func ends(n int, fractions []float64) (all []int) {
	for _, f := range fractions {
		end := max(1, int(math.Round(f*float64(n))))
		if len(all) == 0 || end > all[len(all)-1] {
			all = append(all, end)
		}
	}
	return all
}
