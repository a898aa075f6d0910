package explain

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// attributed runs headwater attribute and opens what it wrote.
func attributed(t *testing.T, input string, args ...string) *checkpoint.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.safetensors")
	headwater.Output(t, append([]string{"attribute", "--input", input, "-o", path}, args...)...)
	return clitest.OpenFile(t, path)
}

func checkClose(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-6 { // thirds are rounded to float32 on the way in
			t.Errorf("%s[%d] = %v, want %v", what, i, got[i], want[i])
		}
	}
}

// Uniform causal attention with T = 4 and L = 2, computed by hand. With r = ½, the default, Â is ½A
// + ½I, so its rows are [1], [1/4 3/4], [1/6 1/6 2/3], [1/8 1/8 1/8 5/8], and the rollout is Â
// squared.
func TestAttributeKnown(t *testing.T) {
	inputs := map[string]string{
		"heads": clitest.Safetensors(t, checkpoint.Tensor{Name: "attention", Shape: []int{2, 3, 4, 4}, Data: clitest.Uniform(2, 3, 4)}),
		"fused": clitest.Safetensors(t, checkpoint.Tensor{Name: "attention", Shape: []int{2, 4, 4}, Data: clitest.Uniform(2, 1, 4)}),
	}
	first := []float64{1, 0, 0, 0, 1. / 4, 3. / 4, 0, 0, 1. / 6, 1. / 6, 2. / 3, 0, 1. / 8, 1. / 8, 1. / 8, 5. / 8}
	second := []float64{
		1, 0, 0, 0,
		7. / 16, 9. / 16, 0, 0,
		23. / 72, 17. / 72, 4. / 9, 0,
		49. / 192, 37. / 192, 31. / 192, 25. / 64, // row 3 of Â: (1 + 1/4 + 1/6 + 5/8)/8 = 49/192, …
	}
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			f := attributed(t, input, "--methods", "rollout,raw")
			checkClose(t, "rollout", clitest.Floats(t, f, "rollout"),
				append(append([]float64{}, first...), second...))
			checkClose(t, "raw", clitest.Floats(t, f, "raw"), clitest.Uniform(2, 1, 4))
			// Without a residual the rollout of one layer is that layer. With the residual only, it
			// is the identity.
			f = attributed(t, input, "--methods", "rollout", "--set",
				"residual=0,layers=1")
			checkClose(t, "one layer", clitest.Floats(t, f, "rollout"), clitest.Uniform(1, 1, 4))
			f = attributed(t, input, "--methods", "rollout", "--set", "residual=1")
			checkClose(t, "identity", clitest.Floats(t, f, "rollout")[:5], []float64{1, 0, 0, 0, 0})
		})
	}
}

// The probabilities that Claus published of the first rows of layer 14, head 17 go through as they
// are, and the rollout of one layer is half of them and half of the token itself.
func TestAttributePublished(t *testing.T) {
	published := []float64{1, 0, 0, .560108, .439892, 0, .927294, .060285, .012421}
	input := clitest.Safetensors(t, checkpoint.Tensor{Name: "attention", Shape: []int{1, 1, 3, 3}, Data: published})
	f := attributed(t, input, "--methods", "raw,rollout,flow")
	checkClose(t, "raw", clitest.Floats(t, f, "raw"), published)
	half := []float64{1, 0, 0, .280054, .719946, 0, .463647, .0301425, .5062105}
	checkClose(t, "rollout", clitest.Floats(t, f, "rollout"), half)
	checkClose(t, "flow", clitest.Floats(t, f, "flow"), half) // of one layer the same
}

// Heads: head 0 looks at the first token and head 1 at itself. Layers and heads count from 0.
func TestAttributeHeads(t *testing.T) {
	input := clitest.Safetensors(t, checkpoint.Tensor{Name: "attention", Shape: []int{1, 2, 2, 2}, Data: []float64{1, 0, 1, 0, 1, 0, 0, 1}})
	cases := map[string][]float64{
		"mean": {1, 0, 0.5, 0.5}, "max": {1, 0, 0.5, 0.5}, "0": {1, 0, 1, 0}, "1": {1, 0, 0, 1},
	}
	for heads, want := range cases {
		f := attributed(t, input, "--methods", "raw", "--set", "heads="+heads)
		checkClose(t, "heads "+heads, clitest.Floats(t, f, "raw"), want)
	}
}

// Flow is written as it is and normalised, for every layer, in float64.
func TestAttributeFlow(t *testing.T) {
	input := clitest.Safetensors(t, checkpoint.Tensor{Name: "attention", Shape: []int{2, 3, 3}, Data: clitest.Uniform(2, 1, 3)})
	f := attributed(t, input, "--methods", "flow")
	if diff := cmp.Diff([]string{"flow", "flow-normalized"}, f.Names()); diff != "" {
		t.Errorf("tensors (-want +got):\n%s", diff)
	}
	flow, normalized := clitest.Floats(t, f, "flow"), clitest.Floats(t, f, "flow-normalized")
	for l := range 2 {
		for target := range 3 {
			at := (l*3 + target) * 3
			sum := flow[at] + flow[at+1] + flow[at+2]
			for s := range 3 {
				if math.Abs(normalized[at+s]-flow[at+s]/sum) > 1e-12 {
					t.Errorf("layer %d target %d source %d: %v of %v is not %v", l, target, s,
						flow[at+s], sum, normalized[at+s])
				}
			}
		}
	}
	// With one layer the flow is Â. From the top of two layers, target 1 reaches source 0 by 1/4
	// directly, and by 3/4 through itself, of which 1/4 goes on: 1/2.
	checkClose(t, "flow of layer 0", flow[:9], []float64{1, 0, 0, 1. / 4, 3. / 4, 0, 1. / 6, 1. / 6, 2. / 3})
	checkClose(t, "flow of target 1", flow[12:15], []float64{1. / 2, 3. / 4, 0})
	for _, name := range f.Names() {
		shape, _ := f.Shape(name)
		dtype, err := f.DType(name)
		if diff := cmp.Diff([]int{2, 3, 3}, shape); diff != "" || dtype != checkpoint.F64 || err != nil {
			t.Errorf("%s is %s %v, %v", name, dtype, shape, err)
		}
	}
}

// Command attribute reads what trace writes. For a decoder its rollout ends with the rows that
// explain computes.
func TestTraceAttribute(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	headwater.Output(t, "trace", "--backend", "go", "--text", clitest.Prompt,
		"--taps", "attention,value-zeroing", "-o", in)
	methods := "rollout,flow,raw,value-zeroing,value-zeroing-rollout"
	_, _, stderr := headwater.Execute(t, "", "attribute", "-i", in, "--methods", methods, "-o", out)
	if wrote := "headwater: wrote " + out + ": "; !strings.HasPrefix(stderr, wrote) ||
		!strings.HasSuffix(stderr, " kB, 6 tensors: "+strings.ReplaceAll(methods, ",", ", ")+
			", flow-normalized\n") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("standard error %q; rows from trace need no remark", stderr)
	}
	f := clitest.OpenFile(t, out)
	a, b := f.Metadata()["model_hash"], clitest.OpenFile(t, in).Metadata()["model_hash"]
	if a != b || a == "" {
		t.Errorf("model_hash %q became %q", b, a)
	}
	e := headwater.Explained(t, "--methods", methods, "--set", "all-levels", "--set", "all-layers",
		"--max-tokens", "1", clitest.Prompt)
	m := len(e.Prompt.IDs)
	for name, r := range e.Methods {
		got := clitest.Floats(t, f, name) // [L,m,m]
		for l := range r.Shape[2] {
			for j := range m {
				// The prefill and one pass round differently.
				if a, b := got[(l*m+m-1)*m+j], r.At(0, j, l); math.Abs(a-b) > 1e-6 {
					t.Errorf("%s layer %d column %d: attribute %v, explain %v", name, l, j, a, b)
				}
			}
		}
	}
	again := filepath.Join(dir, "again")
	headwater.Output(t, "attribute", "-i", in, "--methods", methods, "-o", again)
	if !bytes.Equal(clitest.Read(t, out), clitest.Read(t, again)) {
		t.Errorf("two runs write different bytes")
	}
}

// Attention of a model with sinks sums to less than 1. What trace writes says so, and show,
// attribute and focus take it without a remark, with the numbers of explain. The attention that
// transformers recorded of the golden says nothing: it is taken with a remark.
func TestAttributeSinks(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	model := clitest.Mixture(t, "gpt_oss")
	headwater.Output(t, "trace", "--backend", "go", "--model", model, "--text", clitest.Prompt,
		"--taps", "attention", "-o", in)
	const methods = "rollout,raw,flow"
	_, _, stderr := headwater.Execute(t, "", "attribute", "-i", in, "--methods", methods, "-o", out)
	if strings.Contains(stderr, "note:") {
		t.Errorf("attribute says %q; want no remark", stderr)
	}
	f := clitest.OpenFile(t, out)
	e := headwater.Explained(t, "--model", model, "--methods", methods, "--set", "all-levels",
		"--max-tokens", "1", clitest.Prompt)
	if !e.Model.Sinks {
		t.Errorf("the model of explain has no sinks")
	}
	for name, r := range e.Methods {
		m, got := r.Shape[1], clitest.Floats(t, f, name) // [L,m,m]
		for l := range r.Shape[2] {
			row := make([]float64, m)
			for j := range row {
				row[j] = r.At(0, j, l)
			}
			checkClose(t, name, got[(l*m+m-1)*m:][:m], row)
		}
	}
	shown := clitest.ParseExplanation(t, []byte(headwater.Output(t, "show", "-o", "-", "--format",
		"json", "--methods", "rollout", in)))
	got, want := shown.Methods["rollout"], e.Methods["rollout"]
	checkClose(t, "show", got.Row(0, got.Top()), want.Row(0, want.Top()))
	headwater.Output(t, "show", "--view", "heads", in)
	headwater.Output(t, "explain", "--model", model, "--view", "flow", "--max-tokens", "1",
		clitest.Prompt)

	golden := clitest.OpenFile(t, filepath.Join(clitest.Goldens, "gpt_oss", "golden.safetensors"))
	const T = 12
	other := checkpoint.Tensor{Name: "attention", Shape: []int{3, 4, T, T}}
	var all []float32
	for l := range 3 {
		data, err := golden.Float32(fmt.Sprintf("attn.%d", l)) // [2,4,T,T]
		clitest.Must(t, err)
		all = append(all, data[:4*T*T]...)
	}
	other.Data = all
	_, _, stderr = headwater.Execute(t, "", "attribute", "-i", clitest.Safetensors(t, other),
		"--methods", "raw", "-o", out)
	if !strings.Contains(stderr, "the least of all rows. What rows lack is taken for the part of sinks") {
		t.Errorf("attribute says %q; want a remark", stderr)
	}
	mean, sum := make([]float64, T), 0.0 // of the last row in layer 2
	for h := range 4 {
		for j := range T {
			x := float64(all[((8+h)*T+T-1)*T+j])
			mean[j], sum = mean[j]+x, sum+x
		}
	}
	for j := range mean {
		mean[j] /= sum
	}
	raw := clitest.Floats(t, clitest.OpenFile(t, out), "raw")
	checkClose(t, "raw", raw[(3*T-1)*T:], mean)
}

// Rows in half precision are accepted, with a note.
func TestAttributeRenormalized(t *testing.T) {
	data := clitest.Uniform(1, 1, 3)
	data[8] += 5e-4
	input := clitest.Safetensors(t, checkpoint.Tensor{Name: "attention", Shape: []int{1, 3, 3}, Data: data})
	out := filepath.Join(t.TempDir(), "out")
	status, _, stderr := headwater.Execute(t, "", "attribute", "-i", input, "--methods", "raw",
		"-o", out)
	if status != cli.StatusOK ||
		!strings.Contains(stderr, "headwater: note: attention: rows were divided by their sums") {
		t.Errorf("status %d, %s", status, stderr)
	}
	raw := clitest.Floats(t, clitest.OpenFile(t, out), "raw")
	if sum := raw[6] + raw[7] + raw[8]; math.Abs(sum-1) > 1e-12 {
		t.Errorf("the row sums to %v", sum)
	}
}

// rawFile writes a safetensors file with that header and as many bytes as data says. They need not
// agree.
func rawFile(t *testing.T, header string, data int) string {
	t.Helper()
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	path := filepath.Join(t.TempDir(), "bad.safetensors")
	clitest.Write(t, path, append(append(b, header...), make([]byte, data)...))
	return path
}

func TestAttributeRefusals(t *testing.T) {
	attention := func(shape []int, change func(data []float64)) string {
		n := 1
		for _, s := range shape {
			n *= s
		}
		data := clitest.Uniform(1, 1, 3)
		for len(data) < n {
			data = append(data, data...)
		}
		if change != nil {
			change(data)
		}
		return clitest.Safetensors(t, checkpoint.Tensor{Name: "attention", Shape: shape,
			Data: data[:n]})
	}
	set := func(i int, x float64) func([]float64) { return func(data []float64) { data[i] = x } }
	good := attention([]int{1, 3, 3}, nil)
	in := func(path string, args ...string) []string {
		return append([]string{"attribute", "--methods", "rollout", "-o", "OUT", "--input", path}, args...)
	}
	entry := func(dtype, shape string, begin, end int) string {
		return fmt.Sprintf(`{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, dtype, shape,
			begin, end)
	}
	short := filepath.Join(t.TempDir(), "short.safetensors")
	clitest.Write(t, short, []byte("abc"))
	long := filepath.Join(t.TempDir(), "long.safetensors")
	clitest.Write(t, long, []byte("\xff\xff\xff\x7f\x00\x00\x00\x00{}"))
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"nothing", []string{"attribute"}, "", 2, "attribute needs --input, --methods, --output"},
		{"no methods", []string{"attribute", "-i", good, "-o", "OUT"}, "", 2, "attribute needs --methods"},
		{"unknown method", in(good, "--methods", "magic"), "", 2, `unknown method "magic"; known are`},
		{"missing file", in("nope.safetensors"), "", 1, "nope.safetensors: no such file or directory"},
		{"a folder", in(clitest.Goldens), "", 1, "goldens"},
		{"truncated", in(short), "", 1, "short.safetensors"},
		{"header longer than the file", in(long), "", 1, "long.safetensors"},
		{"overlap", in(rawFile(t, `{"attention":`+entry("F32", "[1,1,1]", 0, 4)+`,"b":`+entry("F32", "[2]", 2, 10)+`}`, 10)), "", 1, "bad.safetensors"},
		{"past the end", in(rawFile(t, `{"attention":`+entry("F32", "[1,3,3]", 0, 36)+`}`, 4)), "", 1, "bad.safetensors"},
		{"unknown dtype", in(rawFile(t, `{"attention":`+entry("Q7", "[1,1,1]", 0, 4)+`}`, 4)), "", 1, "Q7"},
		{"integers", in(rawFile(t, `{"attention":`+entry("I32", "[1,1,1]", 0, 4)+`}`, 4)), "", 1, "I32"},
		{
			"no attention", in(clitest.Safetensors(t, checkpoint.Tensor{Name: "attn", Shape: []int{1}, Data: []float32{1}})), "", 1,
			`has no tensor "attention", which method rollout needs; it has "attn"`,
		},
		{"no Value Zeroing", in(good, "--methods", "value-zeroing"), "", 1, `has no tensor "value-zeroing", which method value-zeroing needs; it has "attention"`},
		{"two axes", in(attention([]int{3, 3}, nil)), "", 1, "in.safetensors: tensor \"attention\": shape [3 3]; want [L,H,T,S] or [L,T,S]"},
		{"not square", in(attention([]int{1, 3, 2}, nil)), "", 1, "3 targets and 2 sources must be as many"},
		{"empty", in(attention([]int{1, 0, 0}, nil)), "", 1, "shape [1 0 0]"},
		{"sums", in(attention([]int{1, 3, 3}, set(4, 0.6))), "", 1, "layer 0 head 0 row 1 sums to 1.1; want 1 within 0.005"},
		{"NaN", in(attention([]int{1, 3, 3}, set(3, math.NaN()))), "", 1, "layer 0 head 0 row 1 column 0 is NaN"},
		{"infinite", in(attention([]int{1, 3, 3}, set(3, math.Inf(1)))), "", 1, "row 1 column 0 is +Inf"},
		{"negative", in(attention([]int{1, 3, 3}, set(3, -0.5))), "", 1, "row 1 column 0 is -0.5; want a number of 0 or more"},
		{"head that is not there", in(good, "--set", "heads=1"), "", 2, "--set heads 1; there are 1, from 0 to 0"},
		{"layer that is not there", in(good, "--set", "layers=1"), "", 2, "layers 1 to 1; there are 1"},
		{"setting of scorers", in(good, "--set", "steps=3"), "", 2, `there is no setting "steps"; known are discard, `},
		{"residual", in(good, "--set", "residual=-0.1"), "", 2, "want a number from 0 to 1"},
		{"no such folder", in(good, "-o", "OUT/x"), "", 1, "does not exist"},
		{"flag of another command", in(good, "--max-tokens", "3"), "", 2, "unknown flag: --max-tokens"},
	})
}

// The minimum cut of a flow has the numbers of the library's example.
// TestRowsThatLookAhead: attribute and every view of show tell of a file whose rows do, which may
// be wrong.
func TestRowsThatLookAhead(t *testing.T) {
	rows := clitest.Uniform(1, 2, 3)
	rows[0], rows[2] = .5, .5
	path := filepath.Join(t.TempDir(), "a.safetensors")
	file, err := os.Create(path)
	must(t, err)
	must(t, checkpoint.Write(file, []checkpoint.Tensor{{
		Name: "attention", Shape: []int{1, 2, 3, 3}, Data: rows,
	}}, map[string]string{"tokens": `["a","b","c"]`}))
	must(t, file.Close())
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"attribute", "--methods", "rollout", "-o", "a.safetensors", "--input"}, {"show"},
		{"show", "--view", "heads"}, {"show", "--view", "maps"}, {"show", "-o", "a.csv"},
	} {
		_, _, stderr := headwater.Execute(t, "", append(args, path)...)
		want := "note: attention: 1 of 4 rows take something from a later token"
		if !strings.Contains(stderr, want) {
			t.Errorf("%v: %q, want %q", args, stderr, want)
		}
	}
}

func TestAttributeCut(t *testing.T) {
	input := clitest.Safetensors(t, checkpoint.Tensor{Name: "attention", Shape: []int{2, 1, 3, 3}, Data: clitest.Uniform(2, 1, 3)})
	want := "flow from token 2 after layer 1 to input token 0: 0.5, limited by\n" +
		"layer 1: token 2 looks at 0, 0.166667\n" +
		"layer 1: token 2 looks at 1, 0.166667\n" +
		"layer 0: token 2 looks at 0, 0.166667\n"
	if got := headwater.Output(t, "attribute", "--input", input, "--cut", "2:0"); got != want {
		t.Errorf("cut:\n%swant:\n%s", got, want)
	}
	weak := clitest.Safetensors(t, checkpoint.Tensor{
		Name: "attention", Shape: []int{1, 1, 2, 2}, Data: []float32{1, 0, 2e-9, 1},
	})
	want = "flow from token 1 after layer 0 to input token 0: 1e-09, limited by\n" + // half of it
		"layer 0: token 1 looks at 0, 1e-09\n"
	if got := headwater.Output(t, "attribute", "--input", weak, "--cut", "1:0"); got != want {
		t.Errorf("cut:\n%swant:\n%s", got, want)
	}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"no pair", []string{"attribute", "--input", input, "--cut", "2"}, "", cli.StatusUsage, "want TARGET:SOURCE"},
		{"no such token", []string{"attribute", "--input", input, "--cut", "2:7"}, "", cli.StatusUsage, "token 7 of a cut"},
		{"no flow", []string{"attribute", "--input", input, "--methods", "rollout", "--cut", "2:0"}, "", cli.StatusUsage, "one method that aggregates by flow"},
		{"no file", []string{"attribute", "--cut", "2:0"}, "", cli.StatusUsage, "--input"},
	})
}
