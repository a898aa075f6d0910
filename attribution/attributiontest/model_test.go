package attributiontest_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/headwater-ml/headwater/attribution/attributiontest"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// ask is what most tests ask: token 3, and not 5, after five tokens.
func ask(quantity trace.Quantity) trace.Query {
	other := 5
	return trace.Query{IDs: []int{2, 7, 1, 7, 0}, Objective: trace.Objective{
		Quantity: quantity,
		Position: 4, Token: 3, Contrast: &other,
	}}
}

// The gradient of each quantity is what central differences of Predict say.
func TestModelGradient(t *testing.T) {
	const step = 1.0 / 1024
	const tol = 1e-3 // beside gradients of 40, third derivatives by step²; worst seen 7e-5
	ctx := context.Background()
	m := attributiontest.NewModel(1)
	for _, quantity := range trace.Quantities() {
		q := ask(quantity)
		q.Embeddings, _ = m.Embed(ctx, q.IDs)
		all, err := m.Gradients(ctx, []trace.Query{q}, trace.TrueGradient)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range all[0].Data {
			up, down := q, q
			up.Embeddings, down.Embeddings = slices.Clone(q.Embeddings), slices.Clone(q.Embeddings)
			up.Embeddings[i] += step
			down.Embeddings[i] -= step
			f, _ := m.Predict(ctx, []trace.Query{up, down})
			if want := (f[0] - f[1]) / float64(up.Embeddings[i]-down.Embeddings[i]); math.Abs(
				float64(got)-want) > tol*max(1, math.Abs(want)) {
				t.Errorf("%s: gradient %d = %v, differences say %v", quantity, i, got, want)
			}
		}
	}
}

// The gradient of attention is that of the logit, which is linear in it: A·∇A of a target sums to
// what the target reads.
func TestModelAttention(t *testing.T) {
	ctx := context.Background()
	m, q := attributiontest.NewModel(1), ask(trace.Logit)
	all, _ := m.Gradients(ctx, []trace.Query{q}, trace.WithAttention)
	terms, _ := m.LogitTerms(ctx, q)
	T, g := len(q.IDs), all[0]
	for s := range T {
		got := 0.0
		for h := range 2 {
			at := (h*T+q.Position)*T + s
			got += float64(g.Attention[at]) * float64(g.AttentionData[at])
		}
		if want := terms.Attention[s]; math.Abs(got-want) > 1e-5 {
			t.Errorf("source %d: A·∇A = %v, part of the logit %v", s, got, want)
		}
	}
	for row := range 2 * T {
		sum := 0.0
		for s, a := range g.Attention[row*T : (row+1)*T] {
			sum += float64(a)
			if s > row%T && a != 0 {
				t.Errorf("target %d reads %v from %d", row%T, a, s)
			}
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Errorf("attention of row %d sums to %v", row, sum)
		}
	}
}

// The parts of a logit add up to it, and both ways to take it apart agree.
func TestModelParts(t *testing.T) {
	ctx := context.Background()
	m, q := attributiontest.NewModel(2), ask(trace.Logit)
	f, _ := m.Predict(ctx, []trace.Query{q})
	terms, _ := m.LogitTerms(ctx, q)
	parts, rest, _ := m.Decompose(ctx, q)
	sum := rest
	for s, part := range parts {
		sum += part
		want := terms.Attention[s]
		if s == q.Position {
			want += terms.Embedding
		}
		if math.Abs(part-want) > 1e-12 {
			t.Errorf("part of token %d is %v, and %v by terms", s, part, want)
		}
	}
	if math.Abs(sum-f[0]) > 1e-12 || terms.Value != f[0] {
		t.Errorf("parts sum to %v, the logit is %v and %v", sum, f[0], terms.Value)
	}
}

// Steps predicts what Predict says, and its alternatives are all there is.
func TestModelSteps(t *testing.T) {
	m, ids := attributiontest.NewModel(3), []int{4, 4, 9}
	q := trace.Query{IDs: ids, Objective: trace.Objective{Quantity: trace.Probability, Position: 2}}
	for step, err := range m.Steps(context.Background(), ids,
		trace.Ask{MaxTokens: 1, Alternatives: 12}) {
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, a := range step.Next.Alternatives {
			q.Token = a.Token.ID
			f, _ := m.Predict(context.Background(), []trace.Query{q})
			if sum += a.Probability; f[0] != a.Probability {
				t.Errorf("token %d: %v, and %v by Predict", q.Token, a.Probability, f[0])
			}
		}
		if math.Abs(sum-1) > 1e-12 || step.Next.Token != step.Next.Alternatives[0].Token {
			t.Errorf("alternatives %v with a sum of %v", step.Next.Alternatives, sum)
		}
	}
}
