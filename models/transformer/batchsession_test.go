package transformer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/transformer"
)

// sessionTol bounds how far a text of a batch may be from the same text alone, relative to the
// largest number, or to 1.
const sessionTol = 2e-6

// sessionAsks are all mixings that batches compute, with heads fused and apart.
var sessionAsks = []trace.MixingAsk{
	{Name: "attention", AllRows: true},
	{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}, AllRows: true},
	{Name: "attention", Heads: trace.Heads{Fusion: trace.OneHead, Head: 1}},
}

// beside runs every text of a batch in a session of its own too, and compares the two.
type beside struct {
	t     *testing.T
	g     *golden
	batch *transformer.BatchSession
	alone []*transformer.Session // by row
}

// besideEach opens a batch of so many rows.
func besideEach(t *testing.T, g *golden, rows, tokens int) *beside {
	t.Helper()
	batch, err := g.model.NewBatchSession(transformer.BatchAsk{
		Asks: sessionAsks, Terms: true, Texts: rows, Tokens: tokens,
	})
	must(t, err)
	b := &beside{t: t, g: g, batch: batch, alone: make([]*transformer.Session, rows)}
	t.Cleanup(func() {
		b.batch.Close()
		for row := range b.alone {
			b.end(row)
		}
	})
	return b
}

// end ends the text in a row.
func (b *beside) end(row int) {
	if b.alone[row] != nil {
		b.alone[row].Close()
		b.alone[row] = nil
	}
}

// prompt puts texts into rows.
func (b *beside) prompt(rows []int, texts [][]int) {
	b.t.Helper()
	got, err := b.batch.Prompt(context.Background(), rows, texts)
	must(b.t, err)
	for i, row := range rows {
		s, err := b.g.model.NewSession(sessionAsks, 0)
		must(b.t, err)
		must(b.t, s.KeepTerms())
		b.alone[row] = s
		want, err := s.Prompt(context.Background(), texts[i], nil)
		must(b.t, err)
		b.same(fmt.Sprintf("prompt of row %d", row), got[i], want)
	}
	b.terms(rows)
}

// step runs one token of each of rows.
func (b *beside) step(rows, ids []int) {
	b.t.Helper()
	got, err := b.batch.Step(context.Background(), rows, ids)
	must(b.t, err)
	for i, row := range rows {
		want, err := b.alone[row].Step(context.Background(), ids[i])
		must(b.t, err)
		b.same(fmt.Sprintf("token %d of row %d", b.alone[row].Length(), row), got[i], want)
	}
	b.terms(rows)
}

func (b *beside) same(where string, got, want *transformer.Output) {
	b.t.Helper()
	checkScaled(b.t, where+": logits", got.Logits, want.Logits)
	for k, rows := range want.Rows {
		at := fmt.Sprintf("%s: %s %s", where, sessionAsks[k].Name, sessionAsks[k].Heads)
		r := got.Rows[k]
		if r.First != rows.First || r.L != rows.L || r.H != rows.H || r.N != rows.N ||
			r.S != rows.S {
			b.t.Fatalf("%s: rows %d.. [%d,%d,%d,%d], want %d.. [%d,%d,%d,%d]", at, r.First, r.L,
				r.H, r.N, r.S, rows.First, rows.L, rows.H, rows.N, rows.S)
		}
		checkScaled(b.t, at, r.Data, rows.Data)
	}
}

// terms compares the parts of the logit of a token against another and of one against foils. The
// last of several texts is not asked for.
func (b *beside) terms(rows []int) {
	b.t.Helper()
	contrast := 3
	objectives := make([]*trace.Objective, len(rows))
	for i := range rows {
		o := trace.Objective{Quantity: trace.Logit, Token: 5 + i, Contrast: &contrast}
		if i%2 == 1 {
			o.Contrast, o.Foils = nil, []int{7, 9, 11}
		}
		objectives[i] = &o
	}
	objectives[len(rows)-1] = nil
	got, err := b.batch.Terms(context.Background(), objectives)
	must(b.t, err)
	for i, o := range objectives {
		if o == nil {
			if got[i] != nil {
				b.t.Errorf("terms of row %d, which were not asked for", rows[i])
			}
			continue
		}
		want, err := b.alone[rows[i]].Terms(context.Background(), *o)
		must(b.t, err)
		where := fmt.Sprintf("terms of row %d", rows[i])
		if got[i].L != want.L || got[i].S != want.S {
			b.t.Fatalf("%s: [%d,%d], want [%d,%d]", where, got[i].L, got[i].S, want.L, want.S)
		}
		checkScaled(b.t, where, narrow(append(got[i].Attention, got[i].Value)),
			narrow(append(want.Attention, want.Value)))
	}
}

// checkScaled is check with sessionTol times the largest number, or sessionTol if that is below 1.
func checkScaled(t testing.TB, what string, got, want []float32) {
	t.Helper()
	scale := 1.0
	for _, x := range want {
		scale = max(scale, float64(x), -float64(x))
	}
	check(t, what, got, want, scale*sessionTol)
}

// TestBatchSession: texts of different lengths in one batch get the logits, rows and terms that
// they get alone: after their prompts, while all of them grow, while some wait, and after one has
// taken the place of another.
func TestBatchSession(t *testing.T) {
	eachDecoder(t, func(t *testing.T, g *golden) {
		sampleWithShort(t)
		for _, rounded := range []bool{false, true} {
			t.Run(map[bool]string{false: "exact", true: "rounded"}[rounded], func(t *testing.T) {
				g := g
				if rounded {
					g = &golden{
						Golden: g.Golden, model: g.changed(t, func(string, []float32) {}),
						params: g.params, ids: g.ids,
					}
					g.model.RoundUp()
				}
				growTogether(t, g)
			})
		}
	})
}

func growTogether(t *testing.T, g *golden) {
	const steps = 3
	texts, longest := g.threeTexts(), 0
	r := g.model.Spec.Rotary
	for i, ids := range texts {
		if r != nil && (r.Stretch > 0 || r.LongFrequencies != nil) && len(ids) > steps {
			texts[i] = ids[:len(ids)-steps] // so that they stay short enough to turn alike
		}
		longest = max(longest, len(texts[i]))
	}
	b := besideEach(t, g, 4, longest+steps)
	b.prompt([]int{2, 0, 3}, texts)
	for k := range steps - 1 {
		b.step([]int{0, 2, 3}, []int{5 + k, 9, 17 + 2*k})
	}
	b.step([]int{3, 2}, []int{4, 6})
	b.batch.Free(2)
	b.end(2)
	b.prompt([]int{1, 2}, [][]int{texts[2], texts[0][:1]})
	b.step([]int{0, 1, 2}, []int{8, 3, 12})
	if got := b.batch.Length(2); got != 2 {
		t.Errorf("row 2 has %d tokens, want 2", got)
	}
}

// TestBatchSessionOnDevice: where the host cannot write into what the backend reads, graphs keep
// the cache, and the numbers are the same.
func TestBatchSessionOnDevice(t *testing.T) {
	for _, name := range []string{"gpt2", "llama"} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			g.model.OnDevice()
			growTogether(t, g)
		})
	}
}

// TestBatchSessionRefusals: what a batch cannot do is refused, with what is wrong, and the session
// stays as it is.
func TestBatchSessionRefusals(t *testing.T) {
	ctx := context.Background()
	ask := transformer.BatchAsk{Texts: 2, Tokens: 20}
	for _, c := range []struct {
		golden string
		change func(*transformer.BatchAsk)
		want   string
	}{
		{"bert", func(*transformer.BatchAsk) {}, "is an encoder"},
		{"gpt2", func(a *transformer.BatchAsk) { a.Texts = 0 }, "a batch of 0 texts of 20 tokens"},
		{"gpt2", func(a *transformer.BatchAsk) {
			a.Asks = []trace.MixingAsk{{Name: "value-zeroing"}}
		}, "value-zeroing costs a pass for each pair of tokens"},
		{"gpt2", func(a *transformer.BatchAsk) {
			a.Asks = []trace.MixingAsk{{
				Name: "attention", Heads: trace.Heads{Fusion: trace.OneHead, Head: 99},
			}}
		}, "head 99 is not in 0.."},
		{"phi3_cross", func(a *transformer.BatchAsk) { a.Tokens = 1000 }, "run one text at a time"},
	} {
		ask := ask
		c.change(&ask)
		_, err := openGolden(t, c.golden).model.NewBatchSession(ask)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.golden, err, c.want)
		}
	}

	g := openGolden(t, "gpt2")
	s, err := g.model.NewBatchSession(ask)
	must(t, err)
	defer s.Close()
	_, err = s.Prompt(ctx, []int{0}, [][]int{{5, 6}})
	must(t, err)
	stopped, stop := context.WithCancel(ctx)
	stop()
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"a row with a text", func() error {
			_, err := s.Prompt(ctx, []int{0}, [][]int{{5}})
			return err
		}, "row 0 has a text"},
		{"an empty text", func() error {
			_, err := s.Prompt(ctx, []int{1}, [][]int{{}})
			return err
		}, "text 0: transformer: there are no tokens"},
		{"more tokens than slots", func() error {
			_, err := s.Prompt(ctx, []int{1}, [][]int{make([]int, 33)})
			return err
		}, "text 0 has 33 tokens; this session has 32 slots"},
		{"a step without a text", func() error {
			_, err := s.Step(ctx, []int{1}, []int{5})
			return err
		}, "row 1 has no text"},
		{"an id outside the vocabulary", func() error {
			_, err := s.Step(ctx, []int{0}, []int{96})
			return err
		}, "id 96 of token 2 is outside the vocabulary of 96"},
		{"terms that were not kept", func() error {
			_, err := s.Terms(ctx, []*trace.Objective{{Quantity: trace.Logit}})
			return err
		}, "the session has to keep them"},
		{"a stopped step", func() error {
			_, err := s.Step(stopped, []int{0}, []int{5})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the error %v does not wrap that of the context", err)
			}
			return err
		}, "stopped at layer 0"},
	} {
		if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if s.Length(0) != 2 || s.Length(1) != 0 {
			t.Fatalf("%s: lengths %d and %d, want 2 and 0", c.name, s.Length(0), s.Length(1))
		}
	}
}

// TestBatchSessionMemory: a batch that does not fit is refused before anything is allocated, and
// the error counts its texts.
func TestBatchSessionMemory(t *testing.T) {
	g := openGolden(t, "gpt2")
	ask := transformer.BatchAsk{Asks: slices.Clone(sessionAsks[:1]), Texts: 8, Tokens: 40}
	bytes := g.model.BatchBytes(ask)
	if one := g.model.BatchBytes(transformer.BatchAsk{
		Asks: ask.Asks, Texts: 1, Tokens: 40,
	}); bytes < 7*one || bytes > 9*one {
		t.Errorf("8 texts need %d bytes and one %d, want about 8 times as many", bytes, one)
	}
	g.model.MaxBytes = bytes
	s, err := g.model.NewBatchSession(ask)
	must(t, err)
	s.Close()
	ask.Texts = 9
	_, err = g.model.NewBatchSession(ask)
	var refused *trace.MemoryError
	if !errors.As(err, &refused) || refused.Need != g.model.BatchBytes(ask) {
		t.Fatalf("error %v, want a MemoryError of %d bytes", err, g.model.BatchBytes(ask))
	}
	for _, want := range []string{"9 texts of 40 tokens", "take fewer texts at a time"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}
