package gonbext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
)

// TestParseArgs reads the words of a %exec line into the three settings.
func TestParseArgs(t *testing.T) {
	prompt, settings, err := parseArgs([]string{
		"the keys", "--model", "smollm2", "--methods=rollout,flow", "--max-tokens", "3", "--chat",
		"--by", "word", "--layer=0", "--max-memory", "2GB", "--filter", "true", "--dtype", "bfloat16",
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRequest(settings)
	if err != nil || prompt != "the keys" {
		t.Fatalf("prompt %q, %v", prompt, err)
	}
	if m := Model(r.model); m != (Model{Name: "smollm2", DType: "bfloat16", MaxMemory: 2e9}) {
		t.Errorf("model %+v", m)
	}
	if v := r.view; v.By != "word" || v.Layer == nil || *v.Layer != 0 ||
		!cmp.Equal(v.Filter, attribution.DefaultFilter()) {
		t.Errorf("view %+v", v)
	}
	o := r.options
	if o.MaxTokens != 3 || !o.Chat || !cmp.Equal(o.Methods, []string{"rollout", "flow"}) {
		t.Errorf("options %+v", o)
	}
	if prompt, _, err := parseArgs([]string{"-x"}); prompt != "-x" || err != nil {
		t.Errorf("a prompt that begins with a minus sign is %q, %v", prompt, err)
	}
}

// TestWrongArgs says in one line what is wrong with a %exec line.
func TestWrongArgs(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "the prompt is missing: %exec gonbext.ExplainArgs"},
		{"--max-tokens|3", "the prompt is missing"},
		{"a|--max-tokns|3", "unknown option --max-tokns; did you mean --max-tokens?"},
		{"a|--nonsense", "unknown option --nonsense; known are --model, --backend,"},
		{"a|--view|heads", "--view is no option of a cell; a cell below %% shows another view: gonbext.Heads"},
		{"a|--save=a.svg", `--save is no option of a cell; gonbext.Save("figure.svg") in a later cell`},
		{"a|--token|1", "--token is no option of a cell; Token of gonbext.View"},
		{"a|--against|b", "--against is no option of a cell; gonbext.Compare"},
		{"a|b", `"b" is not an option: a prompt of several words needs quotes`},
		{"a|--max-tokens", "option --max-tokens needs a value"},
		{"a|--max-tokens|many", `option --max-tokens is "many": `},
		{"a|--chat=perhaps", `option --chat is "perhaps"; want true or false`},
		{"a|--layer|last", `option --layer is "last": want a layer, counted from 0`},
		{"a|--filter|x", `option --filter is "x": want true or false`},
		{"a|--max-memory|much", `option --max-memory is "much": want a size such as 8GB`},
	} {
		var args []string
		if c.args != "" {
			args = strings.Split(c.args, "|")
		}
		_, _, err := parseArgs(args)
		if err == nil || !strings.HasPrefix(err.Error(), "gonbext: "+c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want %q", c.args, err, c.want)
		}
	}
}

// TestArgsOfEveryOption knows every option of an explanation.
func TestArgsOfEveryOption(t *testing.T) {
	known := names(arguments(&attribution.Options{}, &Model{}, &View{}))
	for _, row := range attribution.OptionTable() {
		if row.Flag == "" {
			continue
		}
		n := 0
		for _, name := range known {
			if name == "--"+row.Flag {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d options are called %s, want 1", n, row.Flag)
		}
	}
}
