package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrNone is wrapped by the error of [Open] for a checkpoint without a chat template.
var ErrNone = errors.New("the model has no chat template: it was not trained on conversations, or its files do not say how")

// maxConfig is how many bytes a file of the tokenizer's configuration may have; those of large vocabularies have a few megabytes.
const maxConfig = 64 << 20

// tokenizerConfig is what tokenizer_config.json and special_tokens_map.json say of chats.
type tokenizerConfig struct {
	Template json.RawMessage `json:"chat_template"`
	specialTokens
}

// specialTokens are names of special tokens, each a string or an object with its content.
type specialTokens struct {
	BOS  json.RawMessage `json:"bos_token"`
	EOS  json.RawMessage `json:"eos_token"`
	Unk  json.RawMessage `json:"unk_token"`
	Sep  json.RawMessage `json:"sep_token"`
	Pad  json.RawMessage `json:"pad_token"`
	Cls  json.RawMessage `json:"cls_token"`
	Mask json.RawMessage `json:"mask_token"`
}

// Open returns the chat template of a checkpoint in Hugging Face layout: the file chat_template.jinja, or chat_template in
// tokenizer_config.json, of several the one named default. Its special tokens come from tokenizer_config.json, then from
// special_tokens_map.json. The error wraps [ErrNone] if there is no template.
func Open(dir fs.FS) (*Template, error) {
	var config, more tokenizerConfig
	if err := errors.Join(readConfig(dir, "tokenizer_config.json", &config), readConfig(dir, "special_tokens_map.json", &more)); err != nil {
		return nil, err
	}
	specials, err := config.specials(more.specialTokens)
	if err != nil {
		return nil, err
	}
	data, err := readFile(dir, "chat_template.jinja")
	if err != nil {
		return nil, err
	}
	if data != nil {
		return New(string(data), specials)
	}
	template, err := pick(config.Template)
	if err != nil {
		return nil, err
	}
	return New(template, specials)
}

// readConfig reads a file of JSON; where there is none, nothing changes.
func readConfig(dir fs.FS, name string, into *tokenizerConfig) error {
	data, err := readFile(dir, name)
	if err != nil || data == nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("chat: %s: %w", name, err)
	}
	return nil
}

// readFile returns a file's bytes, nil if there is none.
func readFile(dir fs.FS, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("chat: %s: %w", name, err)
	}
	if len(data) > maxConfig {
		return nil, fmt.Errorf("chat: %s has more than %d bytes", name, maxConfig)
	}
	return append([]byte{}, data...), nil
}

// specials returns the special tokens as strings, by the name that templates use.
func (c tokenizerConfig) specials(more specialTokens) (map[string]string, error) {
	found := map[string]string{}
	for _, t := range []struct {
		name        string
		first, then json.RawMessage
	}{
		{"bos_token", c.BOS, more.BOS},
		{"eos_token", c.EOS, more.EOS},
		{"unk_token", c.Unk, more.Unk},
		{"sep_token", c.Sep, more.Sep},
		{"pad_token", c.Pad, more.Pad},
		{"cls_token", c.Cls, more.Cls},
		{"mask_token", c.Mask, more.Mask},
	} {
		for _, raw := range []json.RawMessage{t.then, t.first} { // the first one wins
			if len(raw) == 0 || string(raw) == "null" {
				continue
			}
			var text string
			var object struct{ Content *string }
			if json.Unmarshal(raw, &text) != nil {
				if err := json.Unmarshal(raw, &object); err != nil || object.Content == nil {
					return nil, fmt.Errorf("chat: %s is neither a string nor an object with content", t.name)
				}
				text = *object.Content
			}
			found[t.name] = text
		}
	}
	return found, nil
}

// pick returns the template of chat_template: a string, or the default of a list with names.
func pick(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", fmt.Errorf("chat: %w", ErrNone)
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one, nil
	}
	var several []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &several); err != nil {
		return "", fmt.Errorf("chat: chat_template is neither a string nor a list of templates with names: %w", err)
	}
	var names []string
	for _, t := range several {
		if t.Name == "default" {
			return t.Template, nil
		}
		names = append(names, t.Name)
	}
	return "", fmt.Errorf("chat: of the templates %q none is named default", names)
}
