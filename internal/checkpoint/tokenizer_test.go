package checkpoint

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// withFiles returns a directory with config.json, weights and the given files.
func withFiles(t *testing.T, more map[string]string) *Dir {
	t.Helper()
	files := map[string]string{"config.json": "{}", "model.safetensors": string(weights(t))}
	for name, text := range more {
		files[name] = text
	}
	d, err := FromFS(mapFS(files), "m")
	must(t, err)
	return d
}

func TestSpecialTokens(t *testing.T) {
	const config, special = "tokenizer_config.json", "special_tokens_map.json"
	cases := []struct {
		name  string
		files map[string]string
		want  map[string]string
		err   string
	}{
		{"none", nil, map[string]string{}, ""},
		{
			"text, object, null and flags",
			map[string]string{config: `{"bos_token":"<s>","eos_token":{"content":"</s>","lstrip":false},"pad_token":null,"add_bos_token":true,"model_max_length":5}`},
			map[string]string{"bos_token": "<s>", "eos_token": "</s>"},
			"",
		},
		{
			"old style: the map goes first",
			map[string]string{
				config:  `{"bos_token":"a","unk_token":"u"}`,
				special: `{"bos_token":"b","additional_special_tokens":["x"]}`,
			},
			map[string]string{"bos_token": "b", "unk_token": "u"},
			"",
		},
		{
			"new style: the map is not read",
			map[string]string{
				config:  `{"bos_token":"a","added_tokens_decoder":{}}`,
				special: `{"bos_token":"b","eos_token":"e"}`,
			},
			map[string]string{"bos_token": "a"},
			"",
		},
		{"only the map", map[string]string{special: `{"mask_token":{"content":"[MASK]"}}`}, map[string]string{"mask_token": "[MASK]"}, ""},
		{"number", map[string]string{config: `{"bos_token":1}`}, nil, "m/tokenizer_config.json: bos_token is 1; it must be a text"},
		{
			"object without content",
			map[string]string{special: `{"bos_token":{}}`},
			nil,
			"m/special_tokens_map.json: bos_token is an object; it must be a text",
		},
		{"not JSON", map[string]string{config: `{`}, nil, "m/tokenizer_config.json: not valid JSON"},
		{"map not JSON", map[string]string{special: `{`}, nil, "m/special_tokens_map.json: not valid JSON"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := withFiles(t, c.files).SpecialTokens()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestChatTemplateSource: the source is the file that ChatTemplates reads.
func TestChatTemplateSource(t *testing.T) {
	for want, files := range map[string][]string{
		"m/tokenizer_config.json: chat_template": {"tokenizer_config.json"},
		"m/chat_template.jinja": {
			"tokenizer_config.json",
			"chat_template.jinja", "additional_chat_templates/tool.jinja",
		},
		"m/additional_chat_templates/default.jinja": {
			"additional_chat_templates/default.jinja",
			"chat_template.jinja",
		},
	} {
		fsys := fstest.MapFS{
			"config.json":       {Data: []byte("{}")},
			"model.safetensors": {Data: weights(t)},
		}
		for _, file := range files {
			fsys[file] = &fstest.MapFile{Data: []byte("{}")}
		}
		d, err := FromFS(fsys, "m")
		must(t, err)
		if got := d.ChatTemplateSource("default"); got != want {
			t.Errorf("ChatTemplateSource = %s, want %s", got, want)
		}
		must(t, d.Close())
	}
}

func TestChatTemplate(t *testing.T) {
	const config = "tokenizer_config.json"
	cases := []struct {
		name     string
		files    map[string]string
		template string // its name
		want     string
		err      string
	}{
		{"none", nil, "", "", ""},
		{"null", map[string]string{config: `{"chat_template":null}`}, "", "", ""},
		{"text", map[string]string{config: `{"chat_template":"T"}`}, "", "T", ""},
		{"text by name", map[string]string{config: `{"chat_template":"T"}`}, "default", "T", ""},
		{
			"list", map[string]string{config: `{"chat_template":[{"name":"default","template":"D"},{"name":"rag","template":"R"}]}`}, "rag", "R", "",
		},
		{
			"list's default", map[string]string{config: `{"chat_template":[{"name":"rag","template":"R"},{"name":"default","template":"D"}]}`}, "", "D", "",
		},
		{"file first", map[string]string{config: `{"chat_template":"T"}`, "chat_template.jinja": "F"}, "", "F", ""},
		{
			"folder",
			map[string]string{
				"chat_template.jinja":                      "F",
				"additional_chat_templates/tool_use.jinja": "U",
				"additional_chat_templates/x.txt":          "",
			},
			"tool_use", "U", "",
		},
		{
			"number",
			map[string]string{config: `{"chat_template":1}`},
			"", "",
			"m/tokenizer_config.json: chat_template is 1; it must be a text or a list",
		},
		{"list of text", map[string]string{config: `{"chat_template":["T"]}`}, "", "", "chat_template[0] is"},
		{"config not JSON", map[string]string{config: `{`}, "", "", "m/tokenizer_config.json: not valid JSON"},
		{
			"file too long", map[string]string{"chat_template.jinja": strings.Repeat("x",
				maxConfig+1)}, "", "", "m/chat_template.jinja has 16777217 bytes",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.template == "" {
				c.template = "default"
			}
			all, err := withFiles(t, c.files).ChatTemplates()
			got := all[c.template]
			if got != c.want || c.err == "" && err != nil || c.err != "" &&
				(err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("ChatTemplates[%q] = %q, %v, want %q, error %q", c.template, got, err,
					c.want, c.err)
			}
		})
	}
}

// TestTextsAreUTF8: a file with other bytes is refused, as in the reference. encoding/json would
// replace them without a word, and a special token would have another text.
func TestTextsAreUTF8(t *testing.T) {
	wrong := func(err error, file string) {
		t.Helper()
		want := "checkpoint: m/" + file + ": not valid UTF-8"
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for _, file := range []string{"config.json", "generation_config.json"} {
		files := map[string]string{"config.json": "{}", "model.safetensors": string(weights(t))}
		files[file] = "{\"a\":\"\xff\"}"
		_, err := FromFS(mapFS(files), "m")
		wrong(err, file)
	}
	for _, file := range []string{"tokenizer_config.json", "special_tokens_map.json"} {
		_, err := withFiles(t, map[string]string{file: "{\"bos_token\":\"\xff\"}"}).SpecialTokens()
		wrong(err, file)
	}
	_, err := withFiles(t, map[string]string{"chat_template.jinja": "\xff"}).ChatTemplates()
	wrong(err, "chat_template.jinja")
}
