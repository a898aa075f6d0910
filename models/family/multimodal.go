package family

import (
	"maps"
	"slices"
	"strings"
)

// textModels are the models that read images and texts, by model_type: the model_type of their
// language model, unless text_config says another one, and whether its head is the embedding,
// unless tie_word_embeddings says so.
var textModels = map[string]struct {
	model string
	tied  bool
}{
	"gemma3":          {"gemma3_text", true},
	"llava":           {"llama", false},
	"llava_next":      {"llama", false},
	"llava_onevision": {"qwen2", false},
	"mistral3":        {"mistral", true},
	"qwen2_5_vl":      {"qwen2_5_vl_text", false},
	"qwen2_vl":        {"qwen2_vl_text", false},
	"qwen3_vl":        {"qwen3_vl_text", false},
}

// textPrefixes may come before the tensors of a language model that is a part of another model.
var textPrefixes = []string{"model.", "", "model.language_model.", "language_model.model.",
	"language_model."}

// text returns the reader of the language model of a model that also reads images, and c itself
// for any other model. The keys are in text_config or, in older files, beside the others.
func (c *Config) text() *Config {
	outer, _ := c.values["model_type"].(string)
	whole, ok := textModels[outer]
	names := c.Strings("architectures")
	if !ok || c.parent != nil || len(names) != 1 ||
		!strings.HasSuffix(names[0], "ForConditionalGeneration") {
		return c
	}
	c.goBy("")
	c.listed = true
	for key := range c.values {
		c.read[key] = slices.ContainsFunc([]string{"image", "vision", "video", "projector", "mm_",
			"boi_", "eoi_"}, func(part string) bool { return strings.Contains(key, part) })
	}
	inner := c.Object("text_config")
	if inner == nil {
		inner = c.child("", maps.Clone(c.values))
		inner.path = ""
		c.children = append(c.children, inner)
		c.values = map[string]any{}
		for key, value := range inner.values {
			if c.read[key] {
				delete(inner.values, key)
				c.values[key] = value
			}
		}
	}
	inner.values = maps.Clone(inner.values)
	if inner.values["model_type"] == nil || inner.values["model_type"] == outer {
		inner.values["model_type"] = whole.model
	}
	for _, key := range []string{"tie_word_embeddings", "bos_token_id", "eos_token_id"} {
		v, there := c.values[key] // it counts for the whole
		if own := inner.values[key]; outer == "llava_onevision" && v == false && own == true {
			v = own // files say true for the language model alone
		}
		if there {
			c.read[key] = true
			inner.values[key] = v
		}
	}
	if inner.values["tie_word_embeddings"] == nil {
		inner.values["tie_word_embeddings"] = whole.tied
	}
	for _, f := range registered() {
		if f.hasType(inner.values["model_type"]) {
			inner.values["architectures"] = []any{f.Architectures[0]}
		}
	}
	c.remark("%s reads images, too; only its language model is here", outer)
	return inner
}
