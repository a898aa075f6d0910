package gguf

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
)

// ofOllama reports whether Ollama's own converter wrote a file of Gemma 3. It names the bases of
// the rotation in its own way, keeps the part that reads images in the same file, and leaves out
// what all models of Gemma 3 have in common.
func (s *settings) ofOllama() bool {
	for _, key := range []string{
		"rope.global.freq_base", "rope.local.freq_base", "mm.tokens_per_image",
		"vision.block_count",
	} {
		if s.has(key) {
			return true
		}
	}
	return !s.has("attention.layer_norm_rms_epsilon")
}

// ollamaSettings reads a file of Gemma 3 by Ollama's converter: the language model alone, with the
// values of the published models for what the file does not say.
func ollamaSettings(s *settings) {
	s.standIn("attention.layer_norm_rms_epsilon", "", float32Of(1e-6))
	s.standIn("rope.freq_base", "rope.global.freq_base", float32Of(1e6))
	s.standIn("rope.freq_base_swa", "rope.local.freq_base", float32Of(1e4))
	// The models with images, 4B and larger, stretch the positions of layers without a window by 8
	// to reach this context. The smaller ones do not, and have a shorter context.
	if n, ok := s.whole("context_length"); ok && n >= 1<<17 {
		s.standIn("rope.scaling.type", "", Value{kind: textValue, text: "linear"})
		s.standIn("rope.scaling.factor", "", float32Of(8))
	}
	for key := range s.file.metadata {
		rest, _ := strings.CutPrefix(key, s.arch+".")
		if strings.HasPrefix(rest, "vision.") || strings.HasPrefix(rest, "mm.") {
			s.read[key] = true
		}
	}
	s.apart = []string{"v.", "mm."}
	gemmaSettings(s)
	// The converter writes 30 where config.json has no cap, as that of no published model has:
	// norms of query and key took its place (Gemma Team 2025, arXiv 2503.19786, §2).
	if s.config["final_logit_softcapping"] == json.Number("30") {
		delete(s.config, "final_logit_softcapping")
	}
}

// standIn makes another key of the architecture, or else a value, count for a key that the file
// does not have.
func (s *settings) standIn(key, other string, otherwise Value) {
	if s.has(key) {
		return
	}
	if other != "" && s.has(other) {
		_, otherwise, _ = s.value(other) // and so it is read
	}
	s.stands[s.arch+"."+key] = otherwise
}

func float32Of(x float32) Value {
	return Value{kind: float32Value, number: uint64(math.Float32bits(x))}
}

// isApart reports whether a tensor is of a part of the file that the language model does not use.
func (s *settings) isApart(tensor string) bool {
	for _, prefix := range s.apart {
		if strings.HasPrefix(tensor, prefix) {
			return true
		}
	}
	return false
}

// cut leaves the first n tokens: those after them, for images, have no embedding. It does nothing
// if one of them has a role.
func (w *words) cut(n int) {
	if n >= len(w.tokens) {
		return
	}
	for _, id := range w.role {
		if id != nil && *id >= n {
			return
		}
	}
	maps.DeleteFunc(w.ids, func(_ string, id int) bool { return id >= n })
	w.tokens = w.tokens[:n]
	if w.types != nil {
		w.types = w.types[:n]
	}
	if w.scores != nil {
		w.scores = w.scores[:n]
	}
}
