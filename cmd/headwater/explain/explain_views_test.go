package explain

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
)

// effectful has, for every option of explain, a value that changes what is shown, with the options
// that it needs, and those with which it is compared.
var effectful = map[string]struct{ with, without string }{
	"against":         {"--against=mary has the lamp . john has the key .", ""},
	"against-model":   {"--against-model=tiny-alibi", ""},
	"all-layers":      {"--set=all-layers --methods=value-zeroing,rollout", "--methods=value-zeroing,rollout"},
	"all-levels":      {"--set=all-levels --methods=flow,rollout", "--methods=flow,rollout"},
	"alternatives":    {"--alternatives=2", ""},
	"by":              {"--by=word", ""},
	"target":          {"--target=answer", ""},
	"caption":         {"--caption=none", ""},
	"color":           {"--format=text --color=always", "--format=text"},
	"continuation":    {"--continuation= is", ""},
	"contrast":        {"--contrast= is", ""},
	"discard":         {"--set=discard=0.5 --methods=rollout,raw", "--methods=rollout,raw"},
	"drop-sink":       {"--set=drop-sink --methods=rollout,raw", "--methods=rollout,raw"},
	"dtype":           {"--dtype=bfloat16", ""},
	"filter":          {"--filter", ""},
	"foils":           {"--set=foils=1", ""},
	"format":          {"--format=text", ""},
	"heads":           {"--set=heads=max --methods=rollout,raw", "--methods=rollout,raw"},
	"layers":          {"--set=layers=1:2 --methods=rollout,raw", "--methods=rollout,raw"},
	"lift":            {"--set=lift --methods=rollout,raw", "--methods=rollout,raw"},
	"max-tokens":      {"--max-tokens=3", ""},
	"methods":         {"--methods=rollout,raw", ""},
	"model":           {"--model=tiny-alibi", ""},
	"pair":            {"--pair=two", ""},
	"palette":         {"--palette=green-purple", ""},
	"per-head":        {"--set=per-head=1 --methods=rollout,raw", "--methods=rollout,raw"},
	"position":        {"--position=1", ""},
	"quantity":        {"--set=quantity=probability --methods=occlusion,direct", "--methods=occlusion,direct"},
	"replacement":     {"--set=replacement=delete --methods=occlusion,direct", "--methods=occlusion,direct"},
	"residual":        {"--set=residual=0.1 --methods=rollout,raw", "--methods=rollout,raw"},
	"samples":         {"--set=samples=2 --methods=reagent,direct", "--set=samples=3 --methods=reagent,direct"},
	"seed":            {"--seed=3 --temperature=5", "--temperature=5"},
	"head-kinds":      {"--set=head-kinds=ablate", ""},
	"lens":            {"--set=lens=answer", ""},
	"layer":           {"--layer=1 --methods=rollout,raw", "--set=all-layers --methods=rollout,raw"},
	"sinks":           {"--sinks", ""},
	"prove":           {"--prove=all", ""},
	"patch":           {"--set=patch=heads", ""},
	"patch-direction": {"--set=patch-direction=noising", ""},
	"patch-estimate":  {"--set=patch-estimate=beside", ""},
	"patch-receiver":  {"--set=patch=path,patch-receiver=3.1", "--set=patch=path"},
	"patch-steps":     {"--set=patch=edges,patch-steps=1", "--set=patch=edges"},
	"corrupted":       {"--set=corrupted=mary has the lamp . john has the key .", ""},
	"source":          {"--source=2", ""},
	"special":         {"--special=off", ""},
	"steps":           {"--set=steps=2 --methods=integrated-gradients,direct", "--set=steps=3 --methods=integrated-gradients,direct"},
	"temperature":     {"--temperature=5", ""},
	"threshold":       {"--set=threshold=0.1 --methods=value-zeroing,raw", "--methods=value-zeroing,raw"},
	"token":           {"--token=1", ""},
	"top":             {"--format=text --top=1", "--format=text"},
	"full":            {"--format=text --full", "--format=text"},
	"beams":           {"--set=beams=4", ""},
	"top-k":           {"--set=top-k=1 --temperature=5", "--temperature=5"},
	"edit":            {"--edit=testdata/edits.json", ""},
	"top-p":           {"--set=top-p=0.01 --temperature=5", "--temperature=5"},
	"view":            {"", ""}, // of which there is one in every row of the test
	"without":         {"--without=0:5", ""},
	"prompt-scores":   {"--set=prompt-scores", ""},
	"width":           {"--format=text --width=60", "--format=text --width=140"},
}

// withoutBytes are the options that change no byte of what is shown.
var withoutBytes = []string{
	"backend", "max-memory", "pre", // where it is computed, and how a GGUF file is read
	"batch", // how many texts at once
	// no embedded model has a chat template
	"from", "to", // nor translates
	"chat", "chat-date", "chat-set", "chat-template", "messages", "system",
	"help", "input", "output", "open", // where it is read and written
	"head", "size", "font", // of figures; see TestSavedViews
	"alignment", // of two stacks; see TestAlignment
}

// lateRefusals are parts of refusals that depend on the model or on what a method takes. They come
// when the model is open, before its first token.
var lateRefusals = []string{
	" is a decoder: ", " applies to none of the methods: ",
	"does not explain quantity", "is not computed in a model that is edited", " has no experts to show",
}

// viewArgs returns the arguments of explain with a view and options, each of which begins with --.
func viewArgs(view, options string) []string {
	args := []string{"explain", "--view", view}
	if !strings.Contains(options, "--format") {
		options += " --format=html"
	}
	if !strings.Contains(options, "--max-tokens") && !strings.Contains(options, "--continuation") {
		options += " --max-tokens=2"
	}
	if view == "compare" && !strings.Contains(options, "--methods") &&
		!strings.Contains(options, "--against") {
		options += " --methods=direct,rollout"
	}
	if view == "patch" {
		if !strings.Contains(options, "--against") && !strings.Contains(options, "corrupted") {
			options += " --against=mary has the lamp . john has the lamp ."
		}
		if !strings.Contains(options, "--contrast") {
			options += " --contrast= mary"
		}
	}
	for option := range strings.SplitSeq(" "+options, " --") {
		if option == "" {
			continue
		}
		if view == "maps" || view == "map" { // which shows one method
			option, _, _ = strings.Cut(option, ",")
		}
		args = append(args, "--"+option)
	}
	return append(args, "mary has the key . john has the lamp .")
}

// TestOptionsOfViews: with every view, an option of explain changes what is shown, or it is refused
// before there is a first token, and, as far as that does not depend on the model, before one is
// opened.
func TestOptionsOfViews(t *testing.T) {
	k := &cli.Kit{}
	var names []string
	explainCommand(k).Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, row := range attribution.OptionTable() {
		if row.Key != "" {
			names = append(names, row.Key)
		}
	}
	for _, name := range names {
		_, changes := effectful[name]
		if name != "set" && changes == slices.Contains(withoutBytes, name) {
			t.Errorf("--%s must be in one of the two lists", name)
		}
	}
	plain := map[string]string{}
	compared := 0
	mixture := " --model=" + clitest.Mixture(t, "olmoe")
	for _, view := range render.Kinds() {
		for _, name := range slices.Sorted(maps.Keys(effectful)) {
			c := effectful[name]
			if name == "view" {
				continue
			}
			if view == render.KindExperts && name != "model" {
				c.with = strings.ReplaceAll(c.with, "1:2", "1:1") + mixture // it has two layers
				c.without += mixture
			}
			status, shown, said := headwater.Execute(t, "", viewArgs(string(view), c.with)...)
			if status != cli.StatusOK {
				early, _, _ := headwater.Execute(t, "",
					viewArgs(string(view), c.with+" --model=no/such")...)
				late := func(part string) bool { return strings.Contains(said, part) }
				if status != cli.StatusUsage || early != cli.StatusUsage &&
					!slices.ContainsFunc(lateRefusals, late) {
					t.Errorf("%s, %s: status %d, without a model %d: %s", view, c.with, status,
						early, said)
				}
				continue
			}
			args := viewArgs(string(view), c.without)
			key := strings.Join(args, " ")
			if _, known := plain[key]; !known {
				_, plain[key], _ = headwater.Execute(t, "", args...)
			}
			if compared++; shown == plain[key] {
				t.Errorf("%s: %s changes nothing and is not refused", view, c.with)
			}
		}
	}
	if compared < 100 {
		t.Errorf("%d options with a view are accepted; want most", compared)
	}
}

// TestTokenByWord: a picture of a generated token is the same by its word as by its number.
func TestTokenByWord(t *testing.T) {
	for view, format := range map[string]string{
		"heatmap": "html", "compare": "html", "heads": "html", "layers": "html", "flow": "html",
		"text": "svg", "head": "svg",
	} {
		file := filepath.Join(t.TempDir(), "a."+format)
		shown := func(token string) string {
			args := []string{
				"explain", "--backend", "go", "--view", view, "--token", token, "--continuation",
				" john has", "-o", file, clitest.Prompt,
			}
			if !strings.HasPrefix(view, "head") {
				args = append(args, "--methods", "flow,raw")
			}
			headwater.Output(t, args...)
			return string(clitest.Read(t, file))
		}
		if has := shown("has"); has != shown("1") || has == shown("john") {
			t.Errorf("%s of “has” is not that of token 1, or it is that of “john”", view)
		}
	}
}

// TestScorerUpToLayer: a scorer at a layer before the last one has the sums up to it, and not those
// of the whole model.
func TestScorerUpToLayer(t *testing.T) {
	dir := t.TempDir()
	text := headwater.Output(t, "explain", "--backend", "go", "--max-tokens", "1",
		"--view", "compare", "--methods", "direct@2,direct@5", clitest.Prompt)
	a, b, _ := strings.Cut(text, "B: direct@5  0 ")
	if !strings.Contains(a, "part of the logit, up to layer 2; ") ||
		!strings.Contains(b, "part of the logit, whole model; ") {
		t.Errorf("the sides are not named by their layers:\n%s", text)
	}
	for layer, want := range map[string]string{"2": ">up to layer 2 · ", "5": ">whole model · "} {
		file := filepath.Join(dir, layer+".svg")
		headwater.Output(t, "explain", "--backend", "go", "--max-tokens", "1", "-o",
			os.DevNull, "--methods", "direct", "--layer", layer, "-o", file, clitest.Prompt)
		figure, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(figure), want) {
			t.Errorf("the figure of layer %s does not say %q: %v", layer, want, err)
		}
	}
}

// Prompts of different lengths are compared in common columns, and the text names those that are
// missing.
func TestExplainAgainstLength(t *testing.T) {
	out := headwater.Output(t, "explain", "--backend", "go", "--max-tokens", "1",
		"--width", "120", "--against", "the keys to the old cabinet", clitest.Prompt)
	for _, want := range []string{"│old", "A has no token “old”; its values are 0 there."} {
		if !strings.Contains(out, want) {
			t.Errorf("the comparison does not say %q:\n%s", want, out)
		}
	}
}

// TestExplainAgainstAnswer: side B explains the answer of side A, so that every row is compared,
// and the top names what B says alone. A continuation is explained on both sides as it is.
func TestExplainAgainstAnswer(t *testing.T) {
	const alone = "B was given A's answer; alone it says “is” (39.6 %) in place of “are” (0.0 %) " +
		"in generated token 1."
	for name, c := range map[string]struct {
		args      []string
		has, lack string
	}{
		"prompt":       {nil, alone, "not compared"},
		"sampled":      {[]string{"--temperature", "0.1"}, "in place of “were” (0.0 %)", "not compared"},
		"continuation": {[]string{"--continuation", " are here"}, "are here", "was given"},
		"model":        {[]string{"--against-model", "tiny-alibi"}, "are here . the", "was given"},
	} {
		args := append([]string{
			"explain", "--backend", "go", "--methods", "direct", "--width", "200",
		}, c.args...)
		if name != "continuation" {
			args = append(args, "--max-tokens", "4")
		}
		if name != "model" {
			args = append(args, "--against", "the key to the cabinet")
		}
		out := headwater.Output(t, append(args, clitest.Prompt)...)
		if !strings.Contains(out, c.has) || strings.Contains(out, c.lack) {
			t.Errorf("%s: the comparison says\n%s\nwant %q and not %q", name, out, c.has, c.lack)
		}
	}
}

// TestWithAnswer: the answer that side B explains ends where A began another character, and, for
// another model, before a control token.
func TestWithAnswer(t *testing.T) {
	steps := func(texts ...string) *attribution.Explanation {
		e := &attribution.Explanation{}
		for _, text := range texts {
			e.Steps = append(e.Steps, attribution.GeneratedToken{
				Text: text, Special: strings.HasPrefix(text, "<"),
			})
		}
		return e
	}
	reads := steps(" a")
	reads.Model.Bidirectional = true
	opts := attribution.Options{MaxTokens: 3, Sampling: trace.Sampling{Temperature: 1}}
	given := attribution.Options{Continuation: " b"}
	for name, c := range map[string]struct {
		a    *attribution.Explanation
		opts attribution.Options
		same bool
		want string
	}{
		"words":          {steps(" a", "b"), opts, false, " ab"},
		"cut character":  {steps(" a", "\xe2\x82"), opts, true, " a"},
		"its end":        {steps(" a", "<end>"), opts, true, " a<end>"},
		"another's end":  {steps(" a", "<end>"), opts, false, " a"},
		"no text":        {steps("<end>"), opts, false, ""},
		"a continuation": {steps(" a"), given, true, " b"},
		"an encoder":     {reads, opts, true, ""},
	} {
		got := withAnswer(c.opts, c.a, c.same)
		if got.Continuation != c.want {
			t.Errorf("%s: B explains %q, want %q", name, got.Continuation, c.want)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A prompt that is compared with itself is noted.
func TestExplainAgainstItself(t *testing.T) {
	for other, noted := range map[string]bool{clitest.Prompt: true, clitest.Prompt + " of": false} {
		status, out, said := headwater.Execute(t, "", "explain", "--backend", "go", "--max-tokens",
			"1", "--against", other, clitest.Prompt)
		if has := strings.Contains(said, "note: both prompts are the same"); has != noted ||
			status != 0 || out == "" {
			t.Errorf("%q: status %d, %q and %d bytes", other, status, said, len(out))
		}
	}
}

// --view compare shows the default methods, which are two.
func TestExplainCompareDefault(t *testing.T) {
	for model, methods := range map[string]string{
		"tiny": "direct,value-zeroing", "tiny-sentiment": "rollout,value-zeroing",
	} {
		args := []string{"explain", "--backend", "go", "--model", model, "--view", "compare", clitest.Prompt}
		got, want := headwater.Output(t, args...),
			headwater.Output(t, append(args, "--methods", methods)...)
		if got != want || !strings.Contains(got, "A − B") {
			t.Errorf("%s: without --methods\n%s\nwant\n%s", model, got, want)
		}
	}
}

// TestLens shows the lens of generated tokens, of the positions of a text and for an encoder; what
// has no lens is refused.
func TestLens(t *testing.T) {
	explain := []string{"explain", "--backend", "go", "--max-tokens", "2", clitest.Prompt}
	with := func(more ...string) []string { return append(slices.Clone(explain), more...) }
	reads := func(golden string) []string {
		return []string{
			"explain", "--backend", "go", "--view", "lens", "--model", reader(t, golden),
			"--position", "1", "the keys",
		}
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{with("--view", "lens"), 0, "“are” was first after layers 3 to 5 (the last), with 42 % after layer 3; before"},
		{with("--view", "lens", "--token", "0"), 0, "“cabinet” (5)  at best rank 1"},
		{with("--view", "lens", "--token", "are"), 0, "“cabinet” (5)  at best rank 1"},
		{with("--view", "lens", "--set", "lens=opening"), 0, "“cabinet” (5)  at best rank 1"},
		{with("--view", "lens", "--set", "lens=0"), 0, "“cabinet” (5)  at best rank 1"},
		{with("--view", "lens", "--set", "lens=answer"), 0, "“are” was first after layers 3 to 5"},
		{with("--view", "lens", "--token", "nobody"), 2, "--token: no generated word is \"nobody\""},
		{with("--view", "lens", "--token", "1", "--set", "lens=0"), 2, "lens 0 and a token of the picture; give one of the two"},
		{with("--view", "lens", "--token", "7"), 2, "headwater: --token 7; the generated tokens are 0 to 1\n"},
		{with("--set", "lens=7", "--format", "json"), 2, "lens 7; the explanation has 2 tokens, counted from 0"},
		{with("--view", "lens", "--layer", "2"), 2,
			"the views layers, flow, heads, lens and patch show every layer"},
		{with("--view", "lens", "--by", "word"), 2, "--by does nothing here"},
		{with("--set", "lens=answer,by", "--format", "json"), 2, "lens"},
		{with("--set", "lens=answer", "--by", "word", "--format", "json"), 2, "and groups of tokens"},
		{with("--set", "lens=answer"), 2, "--set lens does nothing here (text of the view heatmap): it is for -o a.json, or for --view lens\n"},
		{reads("bert"), 0, "was first "},
		{reads("bert_tokens"), 2, "the lens needs a head that scores tokens"},
	} {
		status, out, said := headwater.Execute(t, "", c.args...)
		if status != c.status || !strings.Contains(out+said, c.want) {
			t.Errorf("%q: status %d, want %d with %q:\n%s%s", c.args, status, c.status, c.want, out,
				said)
		}
	}
}

// TestPatch shows patches of two prompts; what cannot be patched is refused with what to do.
func TestPatch(t *testing.T) {
	const prompt, other = "mary has the key . john has the lamp .",
		"mary has the lamp . john has the lamp ."
	with := func(more ...string) []string {
		return append([]string{"explain", "--backend", "go", "--contrast", " mary", prompt}, more...)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{
			with("--view", "patch", "--against", other), 0,
			"carried by ⟨key│lamp⟩ up to layer 4, then by the last token (“.”) from layer 5",
		},
		{
			with("--against", other, "--set", "patch=heads,patch-estimate=beside"), 0,
			"head 4.4 alone brings back 63 %",
		},
		{
			with("--against", other, "--set", "patch=heads,patch-estimate=alone"), 0,
			"estimated by one gradient, head 4.4 alone would bring back",
		},
		{
			with("--against", other, "--set", "patch=path,patch-receiver=4.4.value"), 0,
			"on the path to the value of head 4.4, no head alone carries",
		},
		{with("--set", "patch=heads,corrupted="+other, "--format", "json"), 0, `"shape":[6,8]`},
		{with("--view", "patch"), 2, "give the other one, of as many tokens, by --against"},
		{
			with("--set", "patch=path,patch-receiver=9.1", "--against", other), 2,
			"headwater: --set patch-receiver 9.1; tiny has layers 0 to 5 and heads 0 to 7",
		},
		{
			with("--set", "patch=heads,patch-receiver=3.1", "--against", other), 2,
			"--set patch-receiver is for path, and --set patch is heads",
		},
		{
			with("--set", "patch=heads,patch-estimate", "--against", other), 2,
			"--set patch-estimate has no value; write patch-estimate=alone|beside|atp-star|atp-star-beside",
		},
		{
			with("--set", "patch-receiver=3.1", "--against", other), 2,
			"--set patch-receiver without --set patch; name the places to patch",
		},
		{with("--set", "patch=heads", "--against", other, "--format", "json"), 0, `"shape":[6,8]`},
		// Before the first token is computed, which an error would name.
		{
			with("--view", "patch", "--against", "mary has the lamp ."), 2,
			"headwater: the clean prompt has 11 tokens and the corrupted one 6",
		},
		{
			with("--view", "patch", "--against", prompt), 2,
			"headwater: both prompts have the same tokens",
		},
		{with("--view", "patch", "--against", other, "--set", "corrupted=a"), 2, "--against and --set corrupted are both"},
		{with("--view", "patch", "--against", other, "--token", "0"), 2, "--token does nothing here"},
		{with("--set", "patch=heads", "--format", "json"), 2, "give the other one, of as many tokens, by --against"},
		{
			with("--set", "patch=heads", "--view", "heatmap", "-o", "a.html", "-o", "a.json"), 2,
			"without another prompt; give --set corrupted",
		},
		{with("--set", "patch=heads", "--against", other), 0, "head 4.4 alone brings back 63 %"},
		{with("--set", "corrupted=a", "--format", "json"), 2, "without --set patch"},
		{with("--set", "patch=head", "--format", "json"), 2, "residual, attention"},
	} {
		status, out, said := headwater.Execute(t, "", c.args...)
		text := strings.Join(strings.Fields(out+said), " ")
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%q: status %d, want %d with %q:\n%s%s", c.args, status, c.status, c.want, out,
				said)
		}
	}
}

// TestAlignment: what links a target with its source is refused for a model without, and for other
// views before one opens.
func TestAlignment(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--alignment", "has one stack"},
		{"--alignment --view layers --model no/such", "it is for --view heatmap"},
	} {
		args := append([]string{"explain", clitest.Prompt}, strings.Fields(c.args)...)
		status, _, said := headwater.Execute(t, "", args...)
		if status != cli.StatusUsage || !strings.Contains(said, c.want) {
			t.Errorf("%s: status %d, %q; want %q", c.args, status, said, c.want)
		}
	}
}
