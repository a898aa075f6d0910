package family

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// Config is a config.json being read. It notes the keys that were taken and keeps the first error, so that a family reads
// straight down.
type Config struct {
	file   string
	values map[string]any
	taken  map[string]bool
	err    error
	// path stands before the keys of an object within, "rope_parameters."; parent and children are nil at the top and at the bottom.
	path     string
	parent   *Config
	children []*Config
}

// NewConfig returns a reader of the decoded JSON object of file; the name is for messages. Numbers must be json.Number.
func NewConfig(file string, values map[string]any) *Config {
	return &Config{file: file, values: values, taken: map[string]bool{}}
}

// File returns the name for messages.
func (c *Config) File() string { return c.file }

// Err returns the first error so far.
func (c *Config) Err() error { return c.err }

// value returns the value of the first key that is there and not null, and marks all of them as read.
func (c *Config) value(keys ...string) (any, string) {
	var found any
	key := keys[0]
	for _, k := range keys {
		c.taken[k] = true
		if v := c.values[k]; found == nil && v != nil {
			found, key = v, k
		}
	}
	return found, key
}

func (c *Config) fail(format string, args ...any) {
	if c.parent != nil {
		c.parent.fail("%s", strings.TrimSuffix(c.path, ".")+": "+fmt.Sprintf(format, args...))
		return
	}
	if c.err == nil {
		c.err = fmt.Errorf("family: %s: %s", c.file, short(fmt.Sprintf(format, args...)))
	}
}

// short cuts what a file says down to a length that a message may have.
func short(text string) string {
	const most = 1000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Null returns whether a key is there and null.
func (c *Config) Null(key string) bool {
	v, ok := c.values[key]
	return ok && v == nil
}

// FloatOrNull is Float, but 0 for null: null says that there is none, an absent key the default.
func (c *Config) FloatOrNull(key string, fallback float64) float64 {
	if c.Null(key) {
		return 0
	}
	return c.Float(key, fallback)
}

// Has returns whether a key is there and not null. It does not mark it as read.
func (c *Config) Has(key string) bool { return c.values[key] != nil }

// Object returns the object under a key, whose keys must be read as well; nil for an absent key or null.
func (c *Config) Object(key string) *Config {
	v, _ := c.value(key)
	if v == nil {
		return nil
	}
	values, ok := v.(map[string]any)
	if !ok {
		c.fail("%s is %v, not an object", key, v)
		return nil
	}
	child := &Config{file: c.file, values: values, taken: map[string]bool{}, path: c.path + key + ".", parent: c}
	c.children = append(c.children, child)
	return child
}

// ObjectOrEmpty is Object with an empty one for an absent key or null.
func (c *Config) ObjectOrEmpty(key string) *Config {
	if o := c.Object(key); o != nil {
		return o
	}
	return &Config{file: c.file, taken: map[string]bool{}, path: c.path + key + ".", parent: c}
}

// Floats returns a list of numbers; nil for an absent key or null.
func (c *Config) Floats(key string) []float64 {
	v, _ := c.value(key)
	list, ok := v.([]any)
	if !ok && v != nil {
		c.fail("%s is %v, not a list", key, v)
	}
	out := make([]float64, len(list))
	for i, x := range list {
		n, _ := x.(json.Number)
		f, err := n.Float64()
		if err != nil {
			c.fail("%s holds %v, not a number", key, x)
		}
		out[i] = f
	}
	return out
}

// Int returns a whole number under the first of the keys that is there; it is required.
func (c *Config) Int(keys ...string) int {
	v, key := c.value(keys...)
	if v == nil {
		c.fail("key %s is missing", strings.Join(keys, " or "))
		return 0
	}
	return c.integer(v, key)
}

// IntOr is Int with a default for an absent key or null.
func (c *Config) IntOr(fallback int, keys ...string) int {
	v, key := c.value(keys...)
	if v == nil {
		return fallback
	}
	return c.integer(v, key)
}

func (c *Config) integer(v any, key string) int {
	n, ok := v.(json.Number)
	if !ok {
		c.fail("%s is %v, not a number", key, v)
		return 0
	}
	i, err := n.Int64()
	if err != nil || i > math.MaxInt32 || i < math.MinInt32 {
		c.fail("%s is %v, not a whole number of 32 bits", key, v)
		return 0
	}
	return int(i)
}

// Ints returns a whole number or a list of them; nil for an absent key or null.
func (c *Config) Ints(key string) []int {
	v, _ := c.value(key)
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		ids := make([]int, len(v))
		for i, x := range v {
			ids[i] = c.integer(x, key)
		}
		return ids
	}
	return []int{c.integer(v, key)}
}

// Float returns a number, or the default for an absent key or null.
func (c *Config) Float(key string, fallback float64) float64 {
	v, _ := c.value(key)
	if v == nil {
		return fallback
	}
	n, ok := v.(json.Number)
	if !ok {
		c.fail("%s is %v, not a number", key, v)
		return fallback
	}
	f, err := n.Float64()
	if err != nil {
		c.fail("%s is %v, not a number of 64 bits", key, v)
	}
	return f
}

// Bool returns a truth value, or the default for an absent key or null.
func (c *Config) Bool(key string, fallback bool) bool {
	v, _ := c.value(key)
	if v == nil {
		return fallback
	}
	b, ok := v.(bool)
	if !ok {
		c.fail("%s is %v, not true or false", key, v)
	}
	return b
}

// String returns a text, or the default for an absent key or null.
func (c *Config) String(key, fallback string) string {
	v, _ := c.value(key)
	if v == nil {
		return fallback
	}
	s, ok := v.(string)
	if !ok {
		c.fail("%s is %v, not a text", key, v)
	}
	return s
}

// Strings returns a list of texts; nil for an absent key or null.
func (c *Config) Strings(key string) []string {
	v, _ := c.value(key)
	list, ok := v.([]any)
	if !ok && v != nil {
		c.fail("%s is %v, not a list", key, v)
	}
	var out []string
	for _, x := range list {
		s, ok := x.(string)
		if !ok {
			c.fail("%s holds %v, not a text", key, x)
		}
		out = append(out, s)
	}
	return out
}

// Only takes a truth value that must have the one supported value, which is also its default.
func (c *Config) Only(key string, want bool) {
	if got := c.Bool(key, want); got != want {
		c.fail("%s is %v, which changes the arithmetic and is not supported; only %v is", key, got, want)
	}
}

// OneOf returns what the value of key stands for; an unknown value is an error that lists the known.
func OneOf[T any](c *Config, key, fallback string, known map[string]T) T {
	name := c.String(key, fallback)
	v, ok := known[name]
	if !ok {
		c.fail("%s %q is not supported; supported are %s", key, name, strings.Join(sortedKeys(known), ", "))
	}
	return v
}

// harmless are keys of every family that change no arithmetic of a forward pass without training: bookkeeping, dropout, generation
// defaults, what the reference implementation returns or caches.
var harmless = strings.Fields(`
	_attn_implementation _commit_hash _name_or_path _num_labels architectures attention_dropout attn_pdrop auto_map bad_words_ids begin_suppress_tokens
	chunk_size_feed_forward custom_pipelines decoder_start_token_id diversity_penalty do_sample dtype early_stopping embd_pdrop
	encoder_no_repeat_ngram_size exponential_decay_length_penalty finetuning_task forced_bos_token_id forced_eos_token_id
	gradient_checkpointing hidden_dropout id2label initializer_range is_decoder is_encoder_decoder keys_to_ignore_at_inference label2id
	length_penalty max_length min_length model_type no_repeat_ngram_size num_beam_groups num_beams num_return_sequences
	output_attentions output_hidden_states output_past output_scores pad_token_id prefix problem_type remove_invalid_values
	repetition_penalty resid_pdrop return_dict return_dict_in_generate sep_token_id skip_special_tokens suppress_tokens
	task_specific_params temperature tf_legacy_loss tokenizer_class top_k top_p torch_dtype torchscript transformers_version
	typical_p unk_token_id use_bfloat16 use_cache
`)

// Unread returns an error that names the keys which nobody took and which are not known to be harmless.
func (c *Config) Unread(more []string) error {
	left := c.left(more)
	if len(left) == 0 {
		return nil
	}
	sort.Strings(left)
	return fmt.Errorf("family: %s: key %s is not supported: it may change the arithmetic, and would be ignored; "+
		"remove it from the file if you know that it does not", c.file, short(strings.Join(left, ", ")))
}

// left returns the keys that nobody took, those of objects within included.
func (c *Config) left(more []string) []string {
	var left []string
	for key, value := range c.values {
		if value != nil && !c.taken[key] && !slices.Contains(harmless, key) && !slices.Contains(more, key) {
			left = append(left, c.path+key)
		}
	}
	for _, child := range c.children {
		left = append(left, child.left(nil)...)
	}
	return left
}

// cut cuts a name down to a length that a message may have.
func cut(name string) string {
	const most = 200
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}
