package graph

import (
	"math"
	"testing"

	"github.com/headwater-ml/headwater/models/spec"
)

// TestAlibiSlopes checks the slopes of Press et al. and of BLOOM for numbers of heads that are not
// powers of two.
func TestAlibiSlopes(t *testing.T) {
	for _, c := range []struct {
		heads, head int
		want        float64
	}{
		{32, 0, 0.8408964},
		{32, 17, 0.0441942},
		{8, 0, 0.5},
		{8, 7, 1.0 / 256},
		{12, 0, 0.5},
		{12, 7, 1.0 / 256},
		{12, 8, math.Exp2(-0.5)},
		{12, 9, math.Exp2(-1.5)},
		{12, 10, math.Exp2(-2.5)},
		{12, 11, math.Exp2(-3.5)},
		{1, 0, 1.0 / 256},
		{6, 4, math.Exp2(-1)},
		{6, 5, math.Exp2(-3)},
	} {
		slopes := spec.AlibiSlopes(c.heads)
		if len(slopes) != c.heads {
			t.Fatalf("AlibiSlopes(%d) has %d slopes", c.heads, len(slopes))
		}
		if d := math.Abs(float64(slopes[c.head]) - c.want); d > 1e-7 {
			t.Errorf("AlibiSlopes(%d)[%d] = %v, want %v", c.heads, c.head, slopes[c.head], c.want)
		}
	}
}

// TestPublishedTerms recombines the three terms that Claus published for layer 14, head 17 into
// the published probabilities. They follow BLOOM's convention: ALiBi is not divided by √E.
// Divided, the first would be 0.93028.
func TestPublishedTerms(t *testing.T) {
	// The publication computed in bfloat16.
	bloom := &spec.Spec{
		Heads: 32, HeadWidth: 64, AlibiSlopes: spec.AlibiSlopes(32), AlibiRounded: true,
	}
	alibi := alibiBias(bloom, 3)[17*3:][:3]
	for j, want := range []float64{0, 0.0441895, 0.0883789} {
		if math.Abs(float64(alibi[j])-want) > 1e-7 {
			t.Errorf("alibi of source %d = %v, want %v", j, alibi[j], want)
		}
	}
	for _, c := range []struct {
		content, bias, want []float64
	}{
		{[]float64{-2.499432, 2.879041}, []float64{5.635853, -0.028408},
			[]float64{0.560108, 0.439892}},
		{[]float64{-2.549861, 0.337021, 0.658404}, []float64{5.635853, -0.028408, -1.973696},
			[]float64{0.927294, 0.060285, 0.012421}},
	} {
		got := probabilities(c.content, c.bias, alibi)
		for j := range got {
			if math.Abs(got[j]-c.want[j]) > 2e-6 {
				t.Errorf("row of %d: probability %d = %.6f, want %.6f", len(got), j, got[j],
					c.want[j])
			}
		}
	}
	falcon := &spec.Spec{
		Heads: 32, HeadWidth: 64, AlibiSlopes: spec.AlibiSlopes(32), AlibiRounded: true,
		AlibiScaled: true,
	}
	divided := probabilities([]float64{-2.549861, 0.337021, 0.658404},
		[]float64{5.635853, -0.028408, -1.973696}, alibiBias(falcon, 3)[17*3:][:3])
	if math.Abs(divided[0]-0.93028) > 5e-6 {
		t.Errorf("with ALiBi divided by √E the first probability is %.5f, want .93028", divided[0])
	}
}

func probabilities(content, bias []float64, alibi []float32) []float64 {
	p, sum := make([]float64, len(content)), 0.0
	for j := range p {
		p[j] = math.Exp(content[j] + bias[j] + float64(alibi[j]))
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
	return p
}
