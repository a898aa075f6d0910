package gguf

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/internal/sentencepiece"
)

// words is the tokenizer of a file: its vocabulary and the keys that say how it is used.
type words struct {
	file   *File
	model  string // tokenizer.ggml.model: bert, gpt2, llama or t5
	pre    string // tokenizer.ggml.pre, of gpt2
	tokens []string
	ids    map[string]int      // the first id of each text
	types  []sentencepiece.Use // empty if the file has none: all are ordinary
	scores []float32           // of llama and t5
	merges []string            // of gpt2
	// role has the ids of tokens with a role, by the key that config files of Hugging Face use:
	// bos_token, eos_token, and so on.
	role map[string]*int
	// begin and end report whether bos_token and eos_token are added to a text.
	begin, end bool
	// spaceInFront reports whether a space is put in front of a text.
	spaceInFront bool
	// keepSpaces reports whether spaces around a text and several in a row stay, and charsmap is
	// the table by which a text is normalised, both of t5.
	keepSpaces bool
	charsmap   []byte
	// templates are the chat templates by name; the one without a name is "default".
	templates map[string]string
	// remarks are what was noticed.
	remarks []string
}

// wordKey returns a key of the tokenizer.
func wordKey(key string) string { return "tokenizer.ggml." + key }

// tokenizerKinds has a reader for each tokenizer.ggml.model.
var tokenizerKinds = map[string]func(w *words) error{
	"bert":  (*words).readBERT,
	"gpt2":  (*words).readGPT2,
	"llama": (*words).readLlama,
	"t5":    (*words).readT5,
}

// roles are the keys of the ids of tokens with a role. seperator is spelt so in the format.
var roles = []struct{ name, key string }{
	{"bos_token", "bos_token_id"},
	{"eos_token", "eos_token_id"},
	{"unk_token", "unknown_token_id"},
	{"sep_token", "seperator_token_id"},
	{"pad_token", "padding_token_id"},
	{"cls_token", "cls_token_id"},
	{"mask_token", "mask_token_id"},
	{"eot_token", "eot_token_id"},
	{"eom_token", "eom_token_id"},
}

// readWords reads the tokenizer. The result is nil if the file has none. pre is as in [OpenAs].
func readWords(f *File, pre string) (*words, error) {
	w := &words{file: f, role: map[string]*int{}}
	v, ok := f.metadata[wordKey("model")]
	if !ok {
		return nil, nil
	}
	w.model, ok = v.Text()
	if w.model == "none" || w.model == "no_vocab" {
		return nil, nil
	}
	read, known := tokenizerKinds[w.model]
	if !ok || !known {
		return nil, f.fail("%s is %v, which is not supported; supported are %s", wordKey("model"),
			v, strings.Join(slices.Sorted(maps.Keys(tokenizerKinds)), ", "))
	}
	if err := w.readTokens(); err != nil {
		return nil, err
	}
	if pre != "" && w.model != "gpt2" {
		return nil, f.fail("%w does nothing to its tokenizer %s; leave it out", ErrPreTokenizer,
			w.model)
	}
	for _, r := range roles {
		id, err := w.id(r.key)
		if err != nil {
			return nil, err
		}
		if id != nil {
			w.role[r.name] = id
		}
	}
	if w.model == "gpt2" {
		if err := w.choosePre(pre); err != nil {
			return nil, err
		}
	}
	if err := read(w); err != nil {
		return nil, err
	}
	if w.model != "bert" {
		w.controls()
	}
	var err error
	if w.begin, err = w.flag("add_bos_token", w.begin); err != nil {
		return nil, err
	}
	if w.end, err = w.flag("add_eos_token", w.end); err != nil {
		return nil, err
	}
	if w.spaceInFront, err = w.flag("add_space_prefix", w.spaceInFront); err != nil {
		return nil, err
	}
	w.templates = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(f.metadata)) {
		v := f.metadata[key]
		rest, ok := strings.CutPrefix(key, chatTemplateKey)
		name, named := strings.CutPrefix(rest, ".")
		if !ok || named == (rest == "") {
			continue
		}
		if !named {
			name = defaultTemplate
		}
		if w.templates[name], ok = v.Text(); !ok {
			return nil, f.fail("%s is %v; it must be a text", key, v)
		}
	}
	if w.model == "t5" {
		if err := w.checkT5(); err != nil {
			return nil, err
		}
	}
	return w, w.checkRoles()
}

// checkRoles returns an error if a token that is added to a text is not named.
func (w *words) checkRoles() error {
	for _, add := range []struct {
		wanted    bool
		flag, key string
		role      string
	}{
		{w.begin, "add_bos_token", "bos_token_id", "bos_token"},
		{w.end, "add_eos_token", "eos_token_id", "eos_token"},
	} {
		if add.wanted && w.role[add.role] == nil {
			return w.file.fail("key %s is missing; it must be the id of the token that %s adds",
				wordKey(add.key), wordKey(add.flag))
		}
	}
	return nil
}

// readTokens reads the vocabulary and the types of its tokens.
func (w *words) readTokens() error {
	v, ok := w.file.metadata[wordKey("tokens")]
	if !ok {
		return w.file.fail("key %s is missing; it must be a list of texts", wordKey("tokens"))
	}
	if w.tokens, ok = v.texts(); !ok || len(w.tokens) == 0 {
		return w.file.fail("%s is %v; it must be a list of texts", wordKey("tokens"), v)
	}
	// Each token has its own bytes in the file, so the file's size bounds the map.
	w.ids = make(map[string]int, len(w.tokens))
	repeated := 0
	for i, token := range w.tokens {
		if !utf8.ValidString(token) {
			return w.file.fail("%s[%d] is %s, which is not UTF-8", wordKey("tokens"), i,
				quoted(token))
		}
		if _, twice := w.ids[token]; !twice {
			w.ids[token] = i
		} else if repeated++; repeated == 1 {
			w.remark("tokens %d and %d are both %s; texts are encoded as the first one",
				w.ids[token], i, quoted(token))
		}
	}
	if repeated > 1 {
		w.remark("%d tokens have the text of an earlier one", repeated)
	}
	v, ok = w.file.metadata[wordKey("token_type")]
	if !ok {
		return nil
	}
	if n, isArray := v.Len(); !isArray || n != len(w.tokens) {
		return w.file.fail("%s is %v; it must be a list of %d numbers, one for each token",
			wordKey("token_type"), v, len(w.tokens))
	}
	w.types = make([]sentencepiece.Use, len(w.tokens))
	for i := range w.tokens {
		at := v.At(i)
		n, isInt := at.Int()
		if !isInt || n < 0 || n > int64(sentencepiece.Byte) {
			return w.file.fail("%s[%d] is %v; it must be a whole number from 0 to %d",
				wordKey("token_type"), i, at, sentencepiece.Byte)
		}
		w.types[i] = sentencepiece.Use(n)
	}
	return nil
}

// kind returns the type of a token.
func (w *words) kind(i int) sentencepiece.Use {
	if w.types == nil {
		return sentencepiece.Ordinary
	}
	return w.types[i]
}

// id returns the id under a key, or nil if the key is missing.
func (w *words) id(key string) (*int, error) {
	v, ok := w.file.metadata[wordKey(key)]
	if !ok {
		return nil, nil
	}
	n, ok := v.Int()
	if !ok || n < 0 || n >= int64(len(w.tokens)) {
		return nil, w.file.fail("%s is %v; it must be the id of a token, from 0 to %d",
			wordKey(key), v, len(w.tokens)-1)
	}
	id := int(n)
	return &id, nil
}

// flag returns a truth value, or fallback if the key is missing.
func (w *words) flag(key string, fallback bool) (bool, error) {
	v, ok := w.file.metadata[wordKey(key)]
	if !ok {
		return fallback, nil
	}
	b, ok := v.Bool()
	if !ok {
		return false, w.file.fail("%s is %v; it must be true or false", wordKey(key), v)
	}
	return b, nil
}

// roleText returns the text of the token with a role, or "".
func (w *words) roleText(role string) string {
	if id := w.role[role]; id != nil {
		return w.tokens[*id]
	}
	return ""
}

// readGPT2 reads what a byte-level BPE needs besides its vocabulary.
func (w *words) readGPT2() error {
	v, ok := w.file.metadata[wordKey("merges")]
	if !ok {
		return w.file.fail("key %s is missing; it must be a list of texts", wordKey("merges"))
	}
	if n, isArray := v.Len(); isArray && n == 0 {
		w.merges = nil
	} else if w.merges, ok = v.texts(); !ok {
		return w.file.fail("%s is %v; it must be a list of texts", wordKey("merges"), v)
	}
	w.begin = preTokenizers[w.pre].begin
	return nil
}

// readLlama reads what a BPE of SentencePiece needs besides its vocabulary.
func (w *words) readLlama() error {
	// Gemma puts no space in front of a text. llama.cpp's converter says so, Ollama's does not.
	arch, _ := w.file.metadata["general.architecture"].Text()
	w.begin, w.spaceInFront = true, !strings.HasPrefix(arch, "gemma")
	return w.readScores()
}

// readScores reads the scores of the tokens.
func (w *words) readScores() error {
	key := wordKey("scores")
	v, ok := w.file.metadata[key]
	if !ok {
		return w.file.fail("key %s is missing; it must be a list of numbers", key)
	}
	n, isArray := v.Len()
	if !isArray || n != len(w.tokens) || v.array.element != float32Value {
		return w.file.fail("%s is %v; it must be a list of %d × float32, one for each token", key,
			v, len(w.tokens))
	}
	w.scores = make([]float32, n)
	for i := range w.scores {
		x, _ := v.At(i).Float()
		if x != x {
			return w.file.fail("%s[%d] is NaN; it must be a number", key, i)
		}
		w.scores[i] = float32(x)
	}
	return nil
}

// readBERT reads what WordPiece needs besides its vocabulary. Files name the first token of a text
// as cls_token_id or, in older ones, as bos_token_id.
func (w *words) readBERT() error {
	if w.role["cls_token"] == nil {
		w.role["cls_token"] = w.role["bos_token"]
	}
	for _, name := range []string{"cls_token", "sep_token", "unk_token"} {
		if w.role[name] == nil {
			text := map[string]string{
				"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]",
			}[name]
			i := slices.Index(w.tokens, text)
			if i < 0 {
				return w.file.fail("the vocabulary has no token %s, and no key names another", text)
			}
			w.role[name] = &i
		}
	}
	return nil
}

// Label returns the name that messages call the file by.
func (m *Model) Label() string { return m.File.name }

// HasTokenizer returns whether the file has a tokenizer.
func (m *Model) HasTokenizer() bool { return m.words != nil }

// ForgetTokenizer drops the tokenizer and the metadata, which take tens of megabytes in a model
// with a large vocabulary. The settings and the weights stay. It must not be called while another
// method runs.
func (m *Model) ForgetTokenizer() {
	m.words = nil
	for _, p := range m.File.parts {
		p.metadata = nil
	}
	m.File.metadata = nil
}

// TokenizerName returns where the tokenizer is, for messages.
func (m *Model) TokenizerName() string { return m.File.name + ": tokenizer.ggml" }

// VocabularyNames returns the key that lists the tokens, for messages; twice, as sources and
// targets share it.
func (m *Model) VocabularyNames() (source, target string) {
	name := m.File.name + ": " + wordKey("tokens")
	return name, name
}

// EOS returns the ids of the tokens that end a text or the turn of a speaker.
func (m *Model) EOS() ([]int, error) {
	if m.words == nil || m.words.model == "bert" {
		return nil, nil
	}
	return m.words.ends(), nil
}

// SpecialTokens returns the text of each token that has a role, by key: bos_token, eos_token,
// unk_token, sep_token, pad_token, cls_token and mask_token.
func (m *Model) SpecialTokens() (map[string]string, error) {
	tokens := map[string]string{}
	if m.words == nil {
		return tokens, nil
	}
	for role := range m.words.role {
		if text := m.words.roleText(role); text != "" {
			tokens[role] = m.words.spelt(text)
		}
	}
	return tokens, nil
}

// chatTemplateKey is the key of the default chat template; those of others add a dot and a name.
const (
	chatTemplateKey = "tokenizer.chat_template"
	defaultTemplate = "default"
)

// ChatTemplates returns the chat templates of the file, in Jinja, by name: the one without a name
// is called default.
func (m *Model) ChatTemplates() (map[string]string, error) {
	if m.words == nil {
		return nil, nil
	}
	return m.words.templates, nil
}

// ChatTemplateSource returns where a chat template is, for messages.
func (m *Model) ChatTemplateSource(name string) string {
	if name == defaultTemplate {
		return m.File.name + ": " + chatTemplateKey
	}
	return m.File.name + ": " + chatTemplateKey + "." + name
}
