package trace

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/certificate"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/models"
)

// A recorded checkpoint gets a certificate, as a table and as JSON; a recording of another model
// ends with status 1 and says where.
func TestCertify(t *testing.T) {
	if testing.Short() {
		t.Skip("makes three whole certificates")
	}
	dir := filepath.Join(clitest.Goldens, "llama")
	golden := filepath.Join(dir, "golden.safetensors")
	table := headwater.Output(t, "certify", "--backend", "go", "--model", dir, "--golden", golden)
	for _, want := range []string{"ok     padded logits", "ok     greedy tokens", "ok     Value Zeroing against zeroed values", "All checks passed."} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	var c certificate.Certificate
	text := headwater.Output(t, "certify", "--backend", "go", "--model", dir, "--golden",
		golden, "--json")
	if err := json.Unmarshal([]byte(text), &c); err != nil || !c.OK || len(c.Checks) < 12 ||
		c.Model.Family != "llama" {
		t.Errorf("certificate %+v, %v", c, err)
	}
	status, table, stderr := headwater.Execute(t, "", "certify", "--backend", "go",
		"--model", filepath.Join(clitest.Goldens, "qwen2"), "--golden", golden)
	if status != cli.StatusError || !strings.Contains(table, "WRONG  logits") ||
		!strings.Contains(stderr, "a check that failed") {
		t.Errorf("another model's recording: status %d\n%s%s", status, table, stderr)
	}
}

// A model passes the checks against its own recording.
func TestCertifyRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "golden.safetensors")
	dir := filepath.Join(clitest.Goldens, "gpt2")
	headwater.Output(t, "certify", "--backend", "go", "--model", dir, "--record", path,
		"--ids", "5,6,7,8", "--ids", "9,10,11,12")
	table := headwater.Output(t, "certify", "--backend", "go", "--model", dir, "--golden", path)
	if !strings.Contains(table, "ok     logits") {
		t.Error(table)
	}
}

// TestCertifyCountsGraphs checks that certify on XLA is refused where the two models fit but not
// the compiled graphs.
func TestCertifyCountsGraphs(t *testing.T) {
	if _, err := backends.PluginPath("xla"); err != nil {
		t.Skip(err)
	}
	first, err := models.Open("tiny", models.Options{Backend: "xla"})
	must(t, err)
	var memory *trace.MemoryError
	second := models.Options{Backend: "go", Beside: first.Memory().Held, MaxMemory: 1}
	if _, err := models.Open("tiny", second); !errors.As(err, &memory) {
		t.Fatalf("error %v, want one about memory", err)
	}
	graphs := int64(first.Info().Layers) * certifyLayerBytes
	limit := strconv.FormatInt(memory.Need+graphs/2, 10)
	status, stdout, stderr := headwater.Execute(t, "", "certify", "--backend", "xla",
		"--max-memory", limit)
	if status != cli.StatusError || stdout != "" || !strings.Contains(stderr, "(--max-memory)") ||
		!strings.Contains(stderr, "with the weights of tiny") {
		t.Errorf("within %s bytes: status %d, %q, %q; want a refusal",
			limit, status, stdout, stderr)
	}
}

func TestCertifyRefusals(t *testing.T) {
	model := filepath.Join(clitest.Goldens, "gpt2")
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"golden that is not there", []string{"certify", "--golden", "no/such/file"}, "", cli.StatusError, "no/such/file"},
		{"weights as golden", []string{"certify", "--golden", filepath.Join(model, "model.safetensors")}, "", cli.StatusError, "a golden?"},
		{"text and ids", []string{"certify", "--text", "a", "--ids", "1"}, "", cli.StatusUsage, "one of --text and --ids"},
		{"language of ids", []string{"certify", "--ids", "1", "--to", "fr"}, "", cli.StatusUsage, "--to goes with --text"},
		{"a language", []string{"certify", "--model", "tiny", "--backend", "go", "--text", "the", "--to", "fr"}, "", cli.StatusUsage, "does not translate"},
		{"record and golden", []string{"certify", "--record", "OUT", "--golden", "x"}, "", cli.StatusUsage, "--record writes"},
		{"record with a table", []string{"certify", "--record", "OUT", "--ids", "1", "-o", "x"}, "", cli.StatusUsage, "--record names the file"},
		{"check of two texts", []string{"certify", "--ids", "1", "--ids", "2"}, "", cli.StatusUsage, "a check takes one text"},
		{"record without text", []string{"certify", "--record", "OUT"}, "", cli.StatusUsage, "--record needs a text"},
		{"texts of two lengths", []string{"certify", "--model", model, "--backend", "go", "--record", "OUT", "--ids", "1", "--ids", "1,2"}, "", cli.StatusUsage, "one length"},
		{"size", []string{"certify", "--max-memory", "lots"}, "", cli.StatusUsage, `--max-memory "lots": want a size such as 8GB`},
		{"memory", []string{"certify", "--model", model, "--max-memory", "1kB"}, "", cli.StatusError, "--max-memory"},
		{"dtype", []string{"certify", "--model", model, "--dtype", "int4"}, "", cli.StatusUsage, "known are float32, bfloat16"},
		{"id", []string{"certify", "--ids", "1,x"}, "", cli.StatusUsage, `"x" is not a token id`},
	})
}

// A check that has no golden names the flag that gives one, and no other check does.
func TestAdviseChecks(t *testing.T) {
	c := &certificate.Certificate{Checks: []certificate.Check{
		{Name: "a", Skipped: certificate.NoGolden}, {Name: "b", Skipped: "too short"}, {Name: "c"},
	}}
	adviseChecks(c)
	want := []string{"no golden was given (--golden FILE)", "too short", ""}
	for i, check := range c.Checks {
		if check.Skipped != want[i] {
			t.Errorf("%s: %q, want %q", check.Name, check.Skipped, want[i])
		}
	}
}
