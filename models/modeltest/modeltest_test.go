package modeltest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph" // graph code reads like the formulas, as GoMLX's own does

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/modeltest"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// faultEnv is the environment variable that names the fault to a child process.
const faultEnv = "MODELTEST_FAULT"

// faulty is the attention mixing with one fault.
type faulty struct {
	fault string
	edit  func(b *transformer.Block, rows *Node, heads trace.Heads) *Node
}

func (f faulty) Mix(b *transformer.Block, heads trace.Heads) *Node {
	rows := b.Attention
	switch {
	case heads.Fusion == trace.OneHead:
		rows = Squeeze(SliceAxis(rows, 1, AxisRange(heads.Head, heads.Head+1)), 1)
	case heads.Fusion != trace.EachHead:
		rows = ReduceMean(rows, 1)
	}
	if f.edit != nil {
		return f.edit(b, rows, heads)
	}
	return rows
}

func (f faulty) Check(heads trace.Heads) error { return nil }

func (f faulty) PerPair() bool { return false }

// column returns the number of the source along the last axis of rows, in float32.
func column(rows *Node) *Node {
	return ConvertDType(Iota(rows.Graph(), shapes.Make(dtypes.Int32, rows.Shape().Dimensions...),
		rows.Rank()-1), dtypes.Float32)
}

// faults are mixings that break the contract. fault is the part of the contract that must notice.
var faults = []faulty{
	{fault: "fusions", edit: func(_ *transformer.Block, rows *Node, _ trace.Heads) *Node { return ReduceAllSum(rows) }},
	{fault: "values", edit: func(_ *transformer.Block, rows *Node, _ trace.Heads) *Node { return Neg(rows) }},
	{fault: "values", edit: func(_ *transformer.Block, rows *Node, _ trace.Heads) *Node { return Div(rows, ZerosLike(rows)) }},
	{fault: "values", edit: func(_ *transformer.Block, rows *Node, _ trace.Heads) *Node { return ZerosLike(rows) }},
	// not a number where there is one source
	{fault: "one_token", edit: func(_ *transformer.Block, rows *Node, _ trace.Heads) *Node {
		if dims := rows.Shape().Dimensions; dims[len(dims)-1] == 1 {
			return Div(rows, ZerosLike(rows))
		}
		return rows
	}},
	// times the length of the text
	{fault: "later_tokens", edit: func(_ *transformer.Block, rows *Node, _ trace.Heads) *Node {
		return Mul(rows, AddScalar(ReduceAndKeep(column(rows), ReduceMax, -1), 1))
	}},
	// doubled where there is one target
	{fault: "steps", edit: func(_ *transformer.Block, rows *Node, _ trace.Heads) *Node {
		if dims := rows.Shape().Dimensions; dims[len(dims)-2] == 1 {
			return MulScalar(rows, 2)
		}
		return rows
	}},
	{fault: "one_head", edit: func(_ *transformer.Block, rows *Node, heads trace.Heads) *Node {
		if heads.Fusion == trace.OneHead {
			return MulScalar(rows, 2)
		}
		return rows
	}},
}

// TestMixingNotices runs the contract of each faulty mixing in a child process. It must fail in the
// part for that fault.
func TestMixingNotices(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process for each fault")
	}
	if name := os.Getenv(faultEnv); name != "" {
		for i, f := range faults {
			if name == child(i) {
				transformer.RegisterMixing(name, &f)
				modeltest.Mixing(t, name, &f)
			}
		}
		return
	}
	for i, f := range faults {
		out := runChild(t, "TestMixingNotices", child(i))
		if !strings.Contains(out, "--- FAIL: TestMixingNotices/plain/"+f.fault) {
			t.Errorf("fault %d: the contract's part %q does not fail:\n%s", i, f.fault, out)
		}
	}
}

// child returns the name of a fault, which is also the name of its mixing.
func child(i int) string { return "faulty-" + string(rune('a'+i)) }

// runChild runs one test of this program with a fault, which must fail, and returns its output.
func runChild(t *testing.T, test, fault string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), faultEnv+"="+fault)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("%s is accepted", fault)
	}
	return string(out)
}

// TestMixingAccepts: the same mixing without a fault keeps the contract.
func TestMixingAccepts(t *testing.T) {
	transformer.RegisterMixing("sound", faulty{})
	modeltest.Mixing(t, "sound", faulty{})
}

// brokenFamilies are changes to GPT-2, each with one fault, by the part of the contract that must
// notice.
var brokenFamilies = map[string]func(f *family.Family){
	"names": func(f *family.Family) {
		f.Architectures = append(f.Architectures, "BertForMaskedLM")
	},
	"keys": func(f *family.Family) {
		arch := f.Spec
		f.Spec = func(c *family.Config) (*spec.Spec, error) {
			c.Bool("is_causal", true) // read, and without an effect
			return arch(c)
		}
	},
	"version_4": func(f *family.Family) {
		arch := f.Spec
		f.Spec = func(c *family.Config) (*spec.Spec, error) {
			old := c.Has("torch_dtype")
			s, err := arch(c)
			if old {
				s.NormEpsilon *= 2
			}
			return s, err
		}
	},
	"tensors": func(f *family.Family) {
		f.Weights = f.Weights[:len(f.Weights)-4] // without the final norm
	},
	"parity": func(f *family.Family) {
		for i := range f.Weights {
			if f.Weights[i].Layout == family.KeySide {
				f.Weights[i].Layout = family.ValueSide
			}
		}
	},
}

// TestFamilyNotices changes the registered GPT-2 in a child process.
func TestFamilyNotices(t *testing.T) {
	const dir = "../testdata/goldens/gpt2"
	if fault := os.Getenv(faultEnv); fault != "" {
		f, err := family.Lookup(family.NewConfig(dir, map[string]any{"model_type": "gpt2"}))
		must(t, err)
		brokenFamilies[fault](f)
		modeltest.Family(t, f, dir)
		return
	}
	for fault := range brokenFamilies {
		if out := runChild(t, "TestFamilyNotices", fault); !strings.Contains(out,
			"--- FAIL: TestFamilyNotices/"+fault) {
			t.Errorf("the contract's part %q does not fail:\n%s", fault, out)
		}
	}
}
