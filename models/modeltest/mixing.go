package modeltest

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/modelgolden"
	"github.com/headwater-ml/headwater/models/transformer"
)

const (
	// textLength is how many tokens a mixing is tried on: more than any window of the samples.
	textLength = 9
	// stepTol bounds what a step's row may differ from a prompt's, whose sums run in another order,
	// as a part of its largest number where that is above 1.
	stepTol = 1e-5
)

// Mixing checks on several small models that m, which must be registered under name, keeps the
// contract of [transformer.Mixing]: the shapes; finite numbers of at least 0; zeros where a target
// cannot see a source; equal bits on every run; texts of one token; rows that depend neither on
// later tokens nor on whether a prompt or a step computed them; logits that do not change when rows
// are recorded; one head alone as it is among all heads; and an error for the fusions that Check
// refuses.
func Mixing(t *testing.T, name string, m transformer.Mixing) {
	t.Helper()
	registered, err := transformer.LookupMixing(name)
	must(t, err)
	if !reflect.DeepEqual(registered, m) {
		t.Fatalf("%s is registered as %v, not as %v", name, registered, m)
	}
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			c := mixingContract{s, s.open(t), name, m, map[trace.Heads]*transformer.Output{}}
			t.Run("fusions", c.fusions)
			t.Run("values", c.values)
			t.Run("equal runs", c.equalRuns)
			t.Run("one token", c.oneToken)
			t.Run("later tokens", c.laterTokens)
			t.Run("steps", c.steps)
			t.Run("logits", c.logits)
			t.Run("one head", c.oneHead)
		})
	}
}

type mixingContract struct {
	sample
	model  *transformer.Model
	name   string
	mixing transformer.Mixing
	// whole has what each fusion gave for the text of textLength tokens.
	whole map[trace.Heads]*transformer.Output
}

// allHeads are the ways to fuse the heads.
var allHeads = []trace.Heads{
	{Fusion: trace.MeanHeads},
	{Fusion: trace.MaxHeads},
	{Fusion: trace.MinHeads},
	{Fusion: trace.EachHead},
	{Fusion: trace.OneHead, Head: 1},
}

// each calls do for every fusion that the mixing accepts.
func (c mixingContract) each(t *testing.T, do func(t *testing.T, heads trace.Heads)) {
	for _, heads := range allHeads {
		if c.mixing.Check(heads) == nil {
			t.Run(heads.String(), func(t *testing.T) { do(t, heads) })
		}
	}
}

// run gives the model a text at once and returns the rows and the logits of the last token.
func (c mixingContract) run(t *testing.T, ids []int, asks ...trace.MixingAsk) *transformer.Output {
	t.Helper()
	reading, err := c.model.Read(context.Background(), ids, nil, asks, nil, nil)
	must(t, err)
	defer reading.Close()
	logits, err := reading.Logits(len(ids) - 1)
	must(t, err)
	return &transformer.Output{Logits: logits[0], Rows: reading.Rows}
}

// rows returns the rows of the mixing for a text.
func (c mixingContract) rows(t *testing.T, ids []int, heads trace.Heads) trace.Rows {
	t.Helper()
	return c.run(t, ids, c.ask(heads)).Rows[0]
}

// ofWhole returns rows and logits for the text of textLength tokens, which is run once.
func (c mixingContract) ofWhole(t *testing.T, heads trace.Heads) *transformer.Output {
	t.Helper()
	if c.whole[heads] == nil {
		c.whole[heads] = c.run(t, c.ids(textLength), c.ask(heads))
	}
	return c.whole[heads]
}

func (c mixingContract) ask(heads trace.Heads) trace.MixingAsk {
	return trace.MixingAsk{Name: c.name, Heads: heads}
}

func (c mixingContract) fusions(t *testing.T) {
	accepted := 0
	for _, heads := range allHeads {
		asks := []trace.MixingAsk{c.ask(heads)}
		_, err := c.model.Read(context.Background(), c.ids(2), nil, asks, nil, nil)
		refused := c.mixing.Check(heads)
		if (err == nil) != (refused == nil) {
			t.Errorf("heads %s: Check returns %v, a pass %v", heads, refused, err)
		}
		if refused == nil {
			accepted++
		}
	}
	if accepted == 0 {
		t.Error("Check refuses every way to fuse heads")
	}
}

// values checks the shape of rows, their range, and where they must be 0.
func (c mixingContract) values(t *testing.T) {
	c.each(t, func(t *testing.T, heads trace.Heads) {
		rows := c.ofWhole(t, heads).Rows[0]
		c.shape(t, rows, heads, 0, textLength, textLength)
		sum := 0.0
		for l := range rows.L {
			for h := range rows.H {
				for target := range rows.N {
					for source, x := range rows.Row(l, h, target) {
						where := fmt.Sprintf("layer %d head %d target %d source %d: %v", l, h,
							target, source, x)
						if !(x >= 0) || math.IsInf(float64(x), 1) {
							t.Errorf("%s, want a finite number of at least 0", where)
						}
						if x != 0 && !c.sees(l, target, source) {
							t.Errorf("%s, want 0: the target cannot see it", where)
						}
						sum += float64(x)
					}
				}
			}
		}
		if sum == 0 {
			t.Error("all rows are 0")
		}
	})
}

// shape checks that rows has the sizes for n targets, the first of which is number first, over so
// many sources.
func (c mixingContract) shape(t *testing.T, rows trace.Rows, heads trace.Heads, first, n,
	sources int,
) {
	t.Helper()
	h := 1
	if heads.Fusion == trace.EachHead {
		h = c.spec.Heads
	}
	want := []int{c.spec.Layers, h, first, n, sources, c.spec.Layers * h * n * sources}
	if got := []int{
		rows.L, rows.H, rows.First, rows.N, rows.S,
		len(rows.Data),
	}; !reflect.DeepEqual(got, want) {
		t.Fatalf("rows have layers, heads, first, targets, sources, numbers %v, want %v", got, want)
	}
}

func (c mixingContract) equalRuns(t *testing.T) {
	c.each(t, func(t *testing.T, heads trace.Heads) {
		modelgolden.CheckNear(t, "the same text again", c.rows(t, c.ids(textLength), heads).Data,
			c.ofWhole(t, heads).Rows[0].Data, 0)
	})
}

func (c mixingContract) oneToken(t *testing.T) {
	c.each(t, func(t *testing.T, heads trace.Heads) {
		n := c.shortest()
		rows := c.rows(t, c.ids(n), heads)
		c.shape(t, rows, heads, 0, n, n)
		for _, x := range rows.Data {
			if !(x >= 0) || math.IsInf(float64(x), 1) {
				t.Errorf("the only row is %v, want finite numbers of at least 0", rows.Data)
			}
		}
	})
}

// laterTokens compares the rows of a text with the rows of its beginning.
func (c mixingContract) laterTokens(t *testing.T) {
	if c.spec.Bidirectional {
		t.Skip("an encoder's tokens see later ones")
	}
	c.each(t, func(t *testing.T, heads trace.Heads) {
		ids := c.ids(textLength)
		whole := c.ofWhole(t, heads).Rows[0]
		for n := 2*c.shortest() - 1; n < textLength; n += 3 {
			part := c.rows(t, ids[:n], heads)
			for l := range part.L {
				for h := range part.H {
					for target := range n {
						checkNearRow(t, fmt.Sprintf("layer %d head %d target %d of %d", l, h,
							target, n), part.Row(l, h, target), whole.Row(l, h, target)[:n])
					}
				}
			}
		}
	})
}

// steps compares the row of every step, and of a prompt of which only the last row is asked for,
// with the rows of one prompt.
func (c mixingContract) steps(t *testing.T) {
	if c.spec.Bidirectional {
		t.Skip("an encoder does not generate")
	}
	c.each(t, func(t *testing.T, heads trace.Heads) {
		ids := c.ids(textLength)
		whole := c.ofWhole(t, heads).Rows[0]
		s, err := c.model.NewSession([]trace.MixingAsk{{Name: c.name, Heads: heads}}, 0)
		must(t, err)
		defer s.Close()
		out, err := s.Prompt(context.Background(), ids[:3], nil)
		must(t, err)
		for n := 3; ; n++ {
			rows := out.Rows[0]
			c.shape(t, rows, heads, n-1, 1, n)
			for l := range rows.L {
				for h := range rows.H {
					checkNearRow(t, fmt.Sprintf("layer %d head %d, row of token %d", l, h, n-1),
						rows.Row(l, h, 0), whole.Row(l, h, n-1)[:n])
				}
			}
			if n == textLength {
				return
			}
			out, err = s.Step(context.Background(), ids[n])
			must(t, err)
		}
	})
}

func (c mixingContract) logits(t *testing.T) {
	plain := c.run(t, c.ids(textLength))
	c.each(t, func(t *testing.T, heads trace.Heads) {
		modelgolden.CheckNear(t, "logits while rows are recorded", c.ofWhole(t, heads).Logits,
			plain.Logits, stepTol)
	})
}

// oneHead compares each head alone with its part of all heads.
func (c mixingContract) oneHead(t *testing.T) {
	if c.mixing.Check(trace.Heads{Fusion: trace.EachHead}) != nil ||
		c.mixing.Check(trace.Heads{Fusion: trace.OneHead}) != nil {
		t.Skip("the mixing does not keep heads apart")
	}
	each := c.ofWhole(t, trace.Heads{Fusion: trace.EachHead}).Rows[0]
	for h := range c.spec.Heads {
		one := c.ofWhole(t, trace.Heads{Fusion: trace.OneHead, Head: h}).Rows[0]
		for l := range one.L {
			for target := range one.N {
				checkNearRow(t, fmt.Sprintf("layer %d head %d target %d", l, h, target),
					one.Row(l, 0, target), each.Row(l, h, target))
			}
		}
	}
}

// checkNearRow is checkNear for a row of any scale.
func checkNearRow(t *testing.T, what string, got, want []float32) {
	t.Helper()
	modelgolden.CheckNear(t, what, got, want, stepTol*float64(max(1, slices.Max(want))))
}
