package gonbext

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/errorkind"
)

// TestParseArgs reads the words of a %exec line into the three settings.
func TestParseArgs(t *testing.T) {
	prompt, settings, err := parseArgs([]string{
		"the keys", "--model", "smollm2", "--methods=rollout,flow", "--max-tokens", "3", "--chat",
		"--by", "word", "--layer=0", "--token", "1", "--max-memory", "2GB",
		"--set", "heads=max,lift", "--filter", "true", "--dtype", "bfloat16",
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
	if v := r.show; v.By != "word" || v.Layer == nil || *v.Layer != 0 || *v.Token != 1 ||
		!cmp.Equal(v.Filter, attribution.DefaultFilter()) {
		t.Errorf("view %+v", v)
	}
	o := r.options
	if o.MaxTokens != 3 || !o.Chat || o.Heads.Fusion != trace.MaxHeads || !o.Lift || !cmp.Equal(o.Methods, []string{"rollout", "flow"}) {
		t.Errorf("options %+v", o)
	}
	for _, words := range []string{"-x", "--|-x", "--chat|-x", "-x|--chat", "--chat|--|-x"} {
		prompt, _, err := parseArgs(strings.Split(words, "|"))
		if prompt != "-x" || err != nil {
			t.Errorf("%s: the prompt is %q, %v", words, prompt, err)
		}
	}
	prompt, _, err = parseArgs([]string{"--chat", "--", "--x"})
	if prompt != "--x" || err != nil {
		t.Errorf("a prompt that begins as an option does is %q, %v", prompt, err)
	}
}

// TestArgsInAnyOrder: options before the prompt mean what they mean after it.
func TestArgsInAnyOrder(t *testing.T) {
	options := []string{"--methods=rollout", "--max-tokens", "3", "--chat", "--layer", "1"}
	_, after, err := parseArgs(append([]string{"the keys"}, options...))
	if err != nil {
		t.Fatal(err)
	}
	for at := range 3 { // before each of the first options
		words := slices.Insert(slices.Clone(options), []int{0, 1, 4}[at], "the keys")
		prompt, settings, err := parseArgs(words)
		if err != nil || prompt != "the keys" || !reflect.DeepEqual(settings, after) {
			t.Errorf("%q: %q, %+v, %v", words, prompt, settings, err)
		}
	}
}

// TestArgsPassFlags: package flag, which GoNB lets read the words first, leaves those that begin
// with an option of ExplainArgs alone, but not those of a cell that has flags of its own.
func TestArgsPassFlags(t *testing.T) {
	for words, want := range map[string]string{
		"--max-tokens|3|the keys": "",
		"--chat|the keys":         "",
		"the keys|--max-tokens|3": "",
		"--seed|3|--unknown":      "flag provided but not defined: -unknown\n  -seed int\n    \ta flag of the cell\n, status 2",
		"--seed|3":                "",
	} {
		args := append([]string{"cell"}, strings.Split(words, "|")...)
		flags := flag.NewFlagSet("cell", flag.PanicOnError)
		if strings.HasPrefix(words, "--seed") {
			flags.Int("seed", 0, "a flag of the cell")
		}
		var stderr bytes.Buffer
		passOptions(flags, args, &stderr, func(n int) { fmt.Fprintf(&stderr, ", status %d", n) })
		_ = flags.Parse(args[1:]) // which would panic at an unknown flag
		if stderr.String() != want {
			t.Errorf("%s: says %q, want %q", words, stderr.String(), want)
		}
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
		{"a|--output=a.svg", `--output is no option of a cell; gonbext.Save("figure.svg") in a later cell`},
		{"a|--token|-1", `option --token is "-1": want a whole number from 0 to 1000000: a generated token is named by its number`},
		{"a|--token|0,1", `option --token is "0,1": want one token; gonbext.Layers(gonbext.Last(), 0,1)`},
		{"a|--heads|max", "--heads is no option by itself; write --set heads=VALUE"},
		{"a|--set|heads=median", `--set heads "median": want mean, max, min or the number of a head`},
		{"a|--set|head=1", `option --set is "head=1": there is no setting "head"; did you mean heads of flow,`},
		{"a|--against|b", "--against is no option of a cell; gonbext.Compare"},
		{"a|b", `two prompts, "a" and "b": a prompt of several words needs quotes`},
		{"the|--max-tokens|3|keys", `two prompts, "the" and "keys"`},
		{"--", "the prompt is missing"},
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

// TestArgsWording says what is wrong with a %exec line in options as they were typed, and of a call
// in Go in fields.
func TestArgsWording(t *testing.T) {
	for _, c := range []struct {
		err         error
		flags, goes string
	}{
		{usagef("%s 30; \"a\" has layers 0 to 29", shownLayer), `--layer 30; "a" has layers 0 to 29`, `Layer 30; "a" has layers 0 to 29`},
		{attribution.Options{MaxTokens: -1}.Check(), "--max-tokens -1; it must be in [1,4096], or 0 for 16", "MaxTokens -1; it must be in [1,4096], or 0 for 16"},
		{
			&engine.Error{
				Message: "max tokens 9 and a continuation",
				Wrong: &trace.UsageError{
					Option: "max tokens",
					Reason: trace.Called("max tokens") + " 9 and a continuation",
				},
			},
			"--max-tokens 9 and a continuation", "MaxTokens 9 and a continuation",
		},
		{
			&engine.Error{Message: "no room", Reason: errorkind.Memory},
			"no room (set --max-memory)", "no room (set MaxMemory of gonbext.Model)",
		},
		{
			usagef("%s 1; the last layer that is combined is %s 0", shownLayer,
				trace.Called("last layer", "LastLayer")),
			"--layer 1; the last layer that is combined is --set layers 0",
			"Layer 1; the last layer that is combined is LastLayer 0",
		},
	} {
		got := wordedAsFlags(c.err)
		if got.Error() != "gonbext: "+c.flags || !errors.Is(got, c.err) {
			t.Errorf("%%exec: %q, want %q", got, c.flags)
		}
		got = worded(c.err)
		if got.Error() != "gonbext: "+c.goes || worded(got) != got {
			t.Errorf("Go: %q, want %q", got, c.goes)
		}
	}
	if worded(nil) != nil || wordedAsFlags(nil) != nil {
		t.Error("no error is worded")
	}
}

// TestArgsOfEveryOption knows every option of an explanation.
func TestArgsOfEveryOption(t *testing.T) {
	known := names(arguments(&attribution.Options{}, &Model{}, &Show{}))
	for _, row := range attribution.OptionTable() {
		if row.Flag == "" {
			continue // a setting, or an option of Go alone
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
