package gguf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/sentencepiece"
)

// turnEnds are the texts of tokens that end a text or the turn of a speaker, by the names that
// llama.cpp knows (llama-vocab.cpp), whatever the keys of a file say.
var turnEnds = strings.Fields(`<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|flush|> <|calls|>
	<end_of_turn> <|endoftext|> </s> <|eom_id|> <EOT> _<EOT> [EOT] [EOS] <|end_of_text|>
	<end_of_utterance> <eos> <turn|> <|tool_response>`)

// otherControls are the texts of other tokens that no text contains: what begins the turns that
// turnEnds end, and llama.cpp's names of the places in a text to be filled in.
var otherControls = strings.Fields(`<|begin_of_text|> <|start_header_id|> <|end_header_id|>
	<|python_tag|> <|finetune_right_pad_id|> <|im_start|> <|im_sep|> <start_of_turn> <bos> <|turn>
	<|system|> <|user|> <|assistant|> <|start|> <|message|> <|channel|> <|constrain|>
	<|fim_prefix|> <fim-prefix> <fim_prefix> <PRE> <|code_prefix|> <|prefix|>
	<|fim_suffix|> <fim-suffix> <fim_suffix> <SUF> <|code_suffix|> <|suffix|>
	<|fim_middle|> <fim-middle> <fim_middle> <MID> <|code_middle|> <|middle|>
	<|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD]
	<|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame> <|file_sep|>`)

// controls makes control tokens of known ones that the file types as ordinary: their text would be
// cut into pieces. A token that merges make comes from a text, and stays what it is.
func (w *words) controls() {
	var found []int
	for _, text := range slices.Concat(turnEnds, otherControls) {
		if id, ok := w.ids[text]; ok && w.kind(id) == sentencepiece.Ordinary && !w.halved(text) {
			found = append(found, id)
		}
	}
	for _, m := range w.merges {
		found = slices.DeleteFunc(found, func(id int) bool {
			return len(m) == len(w.tokens[id])+1 && strings.Replace(m, " ", "", 1) == w.tokens[id]
		})
	}
	if len(found) == 0 {
		return
	}
	if w.types == nil {
		w.types = slices.Repeat([]sentencepiece.Use{sentencepiece.Ordinary}, len(w.tokens))
	}
	slices.Sort(found)
	var names []string
	for _, id := range found {
		w.types[id] = sentencepiece.Control
		names = append(names, w.tokens[id])
	}
	w.remark("%s types %s as ordinary; by their names they are control tokens",
		wordKey("token_type"), strings.Join(names, ", "))
}

// halved returns whether a vocabulary with scores, whose merges follow from its tokens, has a token
// as two others.
func (w *words) halved(token string) bool {
	if w.model != "llama" {
		return false
	}
	for at := range token {
		_, left := w.ids[token[:at]]
		_, right := w.ids[token[at:]]
		if at > 0 && left && right {
			return true
		}
	}
	return false
}

// ends returns the ids of tokens that end a text or the turn of a speaker, each once: first those
// of keys, then those with a known name.
func (w *words) ends() []int {
	var ids []int
	add := func(id int) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, role := range []string{"eos_token", "eot_token", "eom_token"} {
		if id := w.role[role]; id != nil {
			add(*id)
		}
	}
	// Of a model that also ends by <|return|>, <|end|> ends a message, and others of the same turn
	// follow.
	_, messages := w.ids["<|return|>"]
	for id, token := range w.tokens {
		kind := w.kind(id)
		if (kind == sentencepiece.Control || kind == sentencepiece.User) &&
			slices.Contains(turnEnds, token) && !(messages && token == "<|end|>") {
			add(id)
		}
	}
	return ids
}

// repeats returns whether a token has the text of one before it, which is the one that texts are
// encoded as.
func (w *words) repeats(id int) bool { return w.ids[w.tokens[id]] != id }

func (w *words) remark(format string, args ...any) {
	w.remarks = append(w.remarks, fmt.Sprintf(format, args...))
}

// preByToken is how a text is cut if the file lacks tokenizer.ggml.pre, but has the vocabulary of
// a known model: its first control token is at a certain place.
var preByToken = []struct {
	id         int
	token, pre string
}{
	{128_000, "<|begin_of_text|>", "llama-bpe"},
	{151_643, "<|endoftext|>", "qwen2"},
	{50_256, "<|endoftext|>", "gpt-2"},
}

// ErrPreTokenizer is wrapped by an error that another way to cut texts helps against; it is those
// words in its sentence.
var ErrPreTokenizer = errors.New("the pre-tokenizer")

// choosePre sets how a text is cut: as the caller asks, as the file says, or as the architecture or
// the vocabulary tells of a file without the key, such as those of 2023.
func (w *words) choosePre(asked string) error {
	v, ok := w.file.metadata[wordKey("pre")]
	names := strings.Join(preNames(), ", ")
	if asked != "" {
		if w.pre = asked; preTokenizers[asked] == nil {
			return pkg.Errorf("%w %.60q is unknown; known are %s", ErrPreTokenizer, asked, names)
		}
		return nil
	}
	if ok {
		if w.pre, ok = v.Text(); !ok || preTokenizers[w.pre] == nil {
			return w.file.fail("%s is %v, which is not supported; supported are %s; if the texts "+
				"of this model are cut as by one of them, name it as %w", wordKey("pre"), v, names,
				ErrPreTokenizer)
		}
		return nil
	}
	arch, _ := w.file.metadata["general.architecture"].Text()
	if w.pre, ok = preOfArchitecture[arch]; ok {
		return nil
	}
	for _, p := range preByToken {
		if w.tokens[0] == "!" && p.id < len(w.tokens) && w.tokens[p.id] == p.token {
			w.pre = p.pre
			w.remark("key %s is missing; token %d is %s, so texts are cut as %s", wordKey("pre"),
				p.id, p.token, p.pre)
			return nil
		}
	}
	return w.file.fail("key %s is missing; name how the texts of this model are cut as %w: %s",
		wordKey("pre"), ErrPreTokenizer, names)
}
