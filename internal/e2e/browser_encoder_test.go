package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
)

// words is a tokenizer of a few words for the encoders among the goldens, which have none of their own.
const words = `{"version":"1.0","truncation":null,"padding":null,
"added_tokens":[{"id":4,"content":"[MASK]","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":true},
{"id":2,"content":"[CLS]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
{"id":3,"content":"[SEP]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
"pre_tokenizer":{"type":"BertPreTokenizer"},
"post_processor":{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]},
"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},
"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
"vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"[MASK]":4,"the":5,"key":6,"##s":7,"to":8,"cabinet":9,"are":10,"here":11}}}`

// encoded is an explanation by an encoder among the goldens.
func encoded(t *testing.T, golden, text string, opts attribution.Options) *attribution.Explanation {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(read(t, filepath.Join(goldens, golden, name))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(words), 0o600); err != nil {
		t.Fatal(err)
	}
	opts.Methods = []string{"rollout", "flow", "value-zeroing"}
	e, err := attribution.Explain(context.Background(), open(t, dir, "go"), text, opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestEncoderPage opens the pages of encoders: at a mask, at chosen positions, at a class. Each can be read in both schemes and says
// what it is about and where it was read.
func TestEncoderPage(t *testing.T) {
	b := openBrowser(t)
	for _, c := range []struct {
		name, golden, text string
		opts               attribution.Options
		says               []string
	}{
		{"mask", "bert", "the keys to the [MASK] are here", attribution.Options{}, []string{
			"Where each prediction comes from", "[MASK] at 6 → ", "probability at this position", "targets × sources, rollout",
		}},
		{"positions", "electra", "the keys to the cabinet", attribution.Options{Positions: []int{3, 6}}, []string{
			"s at 3 → ", "cabinet at 6 → ", "the position explained (target)", "2 predictions",
		}},
		{"class", "bert_cls", "the keys to the cabinet are here", attribution.Options{}, []string{
			"Where the class comes from", "[CLS] at 0 → class LABEL_", "probability of each class", "the position at which the class is read (target)",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := written(t, render.Page{HTML: render.HTML{Heatmap: render.Heatmap{Explanation: encoded(t, c.golden, c.text, c.opts)}}})
			light, dark := b.schemes(t, page)
			for _, say := range c.says {
				if !strings.Contains(light.Text, say) {
					t.Errorf("the page lacks %q", say)
				}
			}
			for _, wrong := range []string{"enerated", "prompt", "begin-of-text"} {
				if strings.Contains(light.Text, wrong) {
					t.Errorf("the page of an encoder says %q", wrong)
				}
			}
			if n := light.Elements["details"]; n < 4 {
				t.Errorf("%d parts to open; want one for each prediction and one for each map", n)
			}
			for _, d := range []drawn{light, dark} {
				checkColors(t, d)
				checkElements(t, d)
				if d.Wide > 0 {
					t.Errorf("the page is %d pixels wider than a window of 1200", d.Wide)
				}
			}
		})
	}
}
