package explain

import (
	"encoding/json"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/study/verdict"
	"github.com/headwater-ml/headwater/models"
)

// reader makes a directory with the weights of a golden encoder and a tokenizer of a few words. A
// token that begins with ## continues a word.
func reader(t *testing.T, golden string) string {
	t.Helper()
	dir := clitest.CopyModel(t, golden, nil)
	clitest.Write(t, filepath.Join(dir, "tokenizer.json"), clitest.Read(t, "testdata/words.json"))
	return dir
}

// The command explains what the package explains, for every kind of encoder head.
func TestExplainEncoders(t *testing.T) {
	for _, c := range []struct {
		name, golden, args, prompt string
		opts                       attribution.Options
		positions                  []int
		says                       []string // of the first prediction, as text
	}{
		{"mask", "bert", "", "the keys to the [MASK]", attribution.Options{}, []int{6}, []string{"[MASK] at 6 → ", "Where each prediction comes from"}},
		{"two masks", "distilbert", "--methods raw,flow,value-zeroing-rollout", "the [MASK] to the [MASK]", attribution.Options{Methods: []string{"raw", "flow", "value-zeroing-rollout"}}, []int{2, 5}, []string{"[MASK] at 2 → ", "[MASK] at 5 → "}},
		{"positions", "bert", "--position 3,1 --position 0", "the keys", attribution.Options{Positions: []int{3, 1, 0}}, []int{3, 1, 0}, []string{"s at 3 → ", "the at 1 → ", "[CLS] at 0 → "}},
		{"without specials", "electra", "--special off --position 0", "the keys", attribution.Options{Positions: []int{0}, Specials: trace.SpecialsOff}, []int{0}, []string{"the at 0 → "}},
		{"class", "bert_cls", "--alternatives 2", "the keys are here", attribution.Options{Alternatives: 2}, []int{0}, []string{"class LABEL_", "Where the class comes from", "instead: LABEL_"}},
		{"class of a distilled model", "distilbert_cls", "--set lift", "the keys", attribution.Options{Lift: true}, []int{0}, []string{"class ", "lift"}},
		{"class of tokens", "electra_disc", "--position 2", "the keys", attribution.Options{Positions: []int{2}}, []int{2}, []string{"key at 2 → "}},
		{"several classes", "bert_multilabel", "", "the keys", attribution.Options{}, []int{0, 0, 0, 0}, []string{"class LABEL_0", "Where the classes come from", "others: LABEL_"}},
		{"number of a pair", "bert_reranker", "--pair cabinet --methods rollout,occlusion", "the keys", attribution.Options{Pair: "cabinet", Methods: []string{"rollout", "occlusion"}}, []int{0}, []string{"[CLS] at 0 → value ", "Where the score comes from", "1st text   the keys", "2nd text   cabinet", "change of the logit"}},
		{"classes of tokens", "bert_tokens", "", "the keys", attribution.Options{}, []int{1, 2, 3}, []string{"the at 1 → B-LOC", "Where each prediction comes from"}},
		{"answer", "bert_qa", "--pair here", "the keys are", attribution.Options{Pair: "here"}, []int{6, 6}, []string{"here at 6 → start  100 %", "Where the answer comes from", "answer     here\n"}},
		{"decoder's class", "llama_cls", "--methods rollout,attn-lrp", "the keys", attribution.Options{Methods: []string{"rollout", "attn-lrp"}}, []int{4}, []string{"[SEP] at 4 → class LABEL_", "Where the class comes from"}},
		{"no head", "bert_bare", "--position 4", "the keys to", attribution.Options{Positions: []int{4}}, []int{4}, []string{`token 4 "to"`, "What each hidden state is made of"}},
		{"no head, first token", "distilbert_bare", "", "the keys", attribution.Options{}, []int{0}, []string{`token 0 "[CLS]"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := reader(t, c.golden)
			m, err := models.Open(dir, models.Options{Backend: "go"})
			must(t, err)
			c.opts.Ask(verdict.Option, verdict.Auto)
			c.opts.Opens = render.Show{}.Opening
			want, err := attribution.Explain(t.Context(), m, c.prompt, c.opts)
			must(t, err)
			args := append([]string{"--model", dir}, strings.Fields(c.args)...)
			got := headwater.Explained(t, append(args, c.prompt)...)
			if diff := cmp.Diff(clitest.RoundTrip(t, want), got); diff != "" {
				t.Errorf("explain %s (-want +got):\n%s", c.args, diff)
			}
			var at []int
			for _, g := range got.Steps {
				at = append(at, *g.Position)
			}
			if diff := cmp.Diff(c.positions, at); diff != "" {
				t.Errorf("positions (-want +got):\n%s", diff)
			}
			text := headwater.Output(t, append(append([]string{"explain", "--backend", "go", "--full", "--color", "never"}, args...), c.prompt)...)
			page := headwater.Output(t, append(append([]string{"explain", "--backend", "go", "--format", "html"}, args...), c.prompt)...)
			for _, say := range c.says {
				if !strings.Contains(text, say) {
					t.Errorf("the text lacks %q:\n%s", say, text)
				}
			}
			page = regexp.MustCompile(`(?s)<meta name="headwater"[^>]*>|<style>.*?</style>|`+
				`<script.*?</script>`).ReplaceAllString(page, "")
			for what, s := range map[string]string{"text": text, "page": page} {
				for _, wrong := range []string{"generated", "begin-of-text", "prompt"} {
					if strings.Contains(s, wrong) {
						t.Errorf("the %s says %q", what, wrong)
					}
				}
			}
		})
	}
}

// A request that an encoder cannot fulfil is refused, with advice.
func TestExplainEncoderRefusals(t *testing.T) {
	bert := reader(t, "bert")
	in := func(args ...string) []string {
		return append([]string{"explain", "--backend", "go", "-o", "OUT", "--model", bert}, args...)
	}
	headwater.CheckRefusals(t, []clitest.Refusal{
		{
			"nothing masked", in("the keys"), "", 2,
			`fills in missing tokens, and the text has no masked token: ` +
				`write [MASK] where one is missing, or say which positions to explain ` +
				`(--position N); its tokens are 0 "[CLS]", 1 "the", 2 "key", 3 "s", 4 "[SEP]"`,
		},
		{"a position outside", in("--position", "9", "the keys"), "", 2, "position 9; the text has 5 tokens, from 0 to 4: 0 \"[CLS]\""},
		{"a position twice", in("--position", "1,1", "the keys"), "", 2, "position 1 is given twice"},
		{"a word as position", in("--position", "keys", "the keys"), "", 2, "want whole numbers from 0 to 1000000, joined by commas"},
		{"a negative position", in("--position=-1", "the keys"), "", 2, "want whole numbers from 0"},
		{"no position", in("--position", "", "the keys"), "", 2, "want whole numbers from 0"},
		{"continuation", in("--continuation", " are", "the [MASK]"), "", 2, "--continuation; "},
		{"max tokens", in("--max-tokens", "2", "the [MASK]"), "", 2, "--max-tokens 2; "},
		{"sampling", in("--temperature", "1", "the [MASK]"), "", 2, "temperature 1; "},
		{"longer than the context", in(strings.Repeat("the ", 100)), "", 2, "102 tokens, but the context of"},
		{"positions for a decoder", []string{"explain", "--backend", "go", "-o", "OUT", "--position", "1", "the keys"}, "", 2, `--position [1]; "tiny" is a decoder`},
		{"input and position", in("--input", "-", "--position", "1"), "", 2, `write "positions" into its lines`},
		{"positions of another type", in("--input", "-"), `{"prompt":"the keys","positions":"1"}`, 1, `"positions" is a string; want a list of whole numbers from 0 to 1000000`},
		{"foils of classes that exclude nothing", []string{"explain", "--backend", "go", "-o", "OUT", "--model", reader(t, "bert_multilabel"), "--methods", "direct", "--set", "foils=2", "the keys"}, "", 2, "does not exclude each other"},
		{"a probability of a number", []string{"explain", "--backend", "go", "-o", "OUT", "--model", reader(t, "bert_reranker"), "--methods", "occlusion", "--set", "quantity=probability", "the keys"}, "", 1, "numbers that have no probability; take logit"},
		{"a pair for a decoder", []string{"explain", "--backend", "go", "-o", "OUT", "--pair", "a", "the keys"}, "", 2, `"tiny" is a decoder: it reads one text`},
		{"an empty pair in a line", in("--input", "-"), `{"prompt":"the keys","pair":""}`, 2, `"pair" is empty; leave it out`},
		{"positions that are not numbers", in("--input", "-"), `{"prompt":"the keys","positions":["a"]}`, 1, `"positions", number 1: it is "a"; want whole numbers from 0`},
		{"a part of a position", in("--input", "-"), `{"prompt":"the keys","positions":[1.5]}`, 1, `"positions", number 1: it is 1.5; want whole numbers`},
	})
}

// Each line of a file gives its own positions.
func TestExplainEncoderInput(t *testing.T) {
	bert := reader(t, "bert")
	args := []string{"explain", "--backend", "go", "--model", bert}
	want := headwater.Output(t,
		append(args, "--format", "json", "--position", "2,1", "the keys")...) +
		headwater.Output(t, append(args, "--format", "json", "the [MASK]")...)
	lines := `{"prompt":"the keys","positions":[2,1]}` + "\n" + `{"prompt":"the [MASK]"}`
	if got := headwater.MustExecute(t, lines, append(args, "--input", "-")...); got != want {
		t.Errorf("--input writes %s, want %s", got, want)
	}
	var first struct {
		Steps []map[string]any
		Maps  map[string]struct{ Shape [3]int }
	}
	must(t, json.Unmarshal([]byte(strings.SplitAfter(want, "\n")[0]), &first))
	if at := first.Steps[1]["position"]; at != 1.0 || first.Maps["rollout"].Shape != [3]int{3, 5, 5} {
		t.Errorf("position %v, maps %v", at, first.Maps)
	}
}

// TestProveEncoders: the verdict on an encoder's prediction has the probabilities of the whole text
// and of the text with masks in place of the sources, and takes another token than the one that is
// read.
func TestProveEncoders(t *testing.T) {
	for model, prompt := range map[string]string{
		"tiny-mlm": "the keys to the [MASK]", "tiny-sentiment": "the film was not good",
	} {
		e := headwater.Explained(t, "--model", model, "--prove", "all", prompt)
		m, err := models.Open(model, models.Options{Backend: "go"})
		must(t, err)
		mask, err := m.Encode("[MASK]", trace.SpecialsOff)
		must(t, err)
		for i, g := range e.Steps {
			v := verdict.Of(g)
			q := trace.Query{IDs: e.Prompt.IDs}
			q.Quantity, q.Position, q.Token = trace.Probability, *g.Position, g.ID
			without := q
			without.IDs = slices.Clone(q.IDs)
			for _, j := range v.Trials[0].Sources {
				without.IDs[j] = mask[0].ID
			}
			want, err := m.Predict(t.Context(), []trace.Query{q, without})
			must(t, err)
			if slices.Contains(v.Trials[0].Sources, *g.Position) || v.Replacement != "mask" ||
				v.Control.Draws == 0 ||
				math.Abs(v.Whole-want[0])+math.Abs(v.Whole-g.Probability) > 1e-6 ||
				math.Abs(v.Trials[0].P-want[1]) > 1e-6 {
				t.Errorf("%s, prediction %d of probability %v: %+v, want %v", model, i,
					g.Probability, v, want)
			}
		}
	}
}
