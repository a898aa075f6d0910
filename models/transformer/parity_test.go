package transformer_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/transformer"
)

func openGolden(t testing.TB, name string) (*transformer.Model, *checkpoint.File) {
	t.Helper()
	dir, err := checkpoint.OpenDir("../testdata/goldens/" + name)
	if err != nil {
		t.Fatal(err)
	}
	f, spec, err := family.Read(family.NewConfig(name, dir.Config))
	if err != nil {
		t.Fatal(err)
	}
	load, err := f.Loader(name, dir.Weights, spec)
	if err != nil {
		t.Fatal(err)
	}
	backend, err := compute.NewWithConfig("go")
	if err != nil {
		t.Fatal(err)
	}
	m, err := transformer.New(backend, spec, load)
	if err != nil {
		t.Fatal(err)
	}
	golden, err := checkpoint.Open("../testdata/goldens/" + name + "/golden.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	return m, golden
}

func TestScratch(t *testing.T) {
	for _, name := range []string{"gpt2", "bloom", "bloom_h6", "falcon_rw"} {
		m, golden := openGolden(t, name)
		ids32, _ := golden.Int32("input_ids")
		ids := make([]int, 12)
		for i := range ids {
			ids[i] = int(ids32[i])
		}
		s, err := m.NewSession([]trace.MixingAsk{
			{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}, AllRows: true},
			{Name: "value-zeroing", AllRows: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Prompt(context.Background(), ids, nil)
		if err != nil {
			t.Fatal(err)
		}
		logits, _ := golden.Float32("logits")
		v := m.Spec.Vocab
		fmt.Println(name, "logits", diff(out.Logits, logits[11*v:12*v]))
		for l := range m.Spec.Layers {
			a, _ := golden.Float32(fmt.Sprintf("attn.%d", l))
			n := m.Spec.Heads * 144
			fmt.Println(" attn", l, diff(out.Rows[0].Data[l*n:(l+1)*n], a[:n]))
		}
		fmt.Println(out.Rows[1].Row(1, 0, 5))
		s2, _ := m.NewSession([]trace.MixingAsk{
			{Name: "attention", Heads: trace.Heads{Fusion: trace.EachHead}, AllRows: true},
			{Name: "value-zeroing"},
		})
		o, err := s2.Prompt(context.Background(), ids[:5], nil)
		for i := 5; i < 12; i++ {
			o, err = s2.Step(context.Background(), ids[i])
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println("  step", i, diff(o.Logits, logits[i*v:(i+1)*v]), diff(o.Rows[1].Row(1, 0, 0), out.Rows[1].Row(1, 0, i)[:i+1]))
		}
	}
}

func diff(a, b []float32) float64 {
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(float64(a[i]-b[i])))
	}
	return worst
}
