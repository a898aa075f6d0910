package checkpoint

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// The files beside tokenizer.json that say how text becomes tokens.
const (
	tokenizerConfigFile = "tokenizer_config.json"
	specialTokensFile   = "special_tokens_map.json"
	chatTemplateFile    = "chat_template.jinja"
	chatTemplatesDir    = "additional_chat_templates"
	defaultTemplate     = "default"
)

// HasTokenizer returns whether the directory has a tokenizer.json, or the files of [Dir.Pieces].
func (d *Dir) HasTokenizer() bool {
	return d.exists(tokenizerFile) || len(d.piecesFiles()) > 0
}

// piecesFiles are the files that [Dir.Pieces] returns: for sources a file of SentencePiece and a
// vocabulary, and both for targets. There are none if the directory lacks one of the first two or
// has a tokenizer.json. A file may have no vocabulary beside it.
func (d *Dir) piecesFiles() []string {
	const alone, bpe, vocab = "spiece.model", "sentencepiece.bpe.model", "vocab.json"
	ofTarget := vocab
	// What is wrong with the file is an error where it is read for the tokenizer.
	if config, _ := d.TokenizerConfig(); config["separate_vocabs"] == true {
		ofTarget = "target_vocab.json"
	}
	for _, files := range [][]string{
		{"source.spm", vocab, "target.spm", ofTarget}, {bpe, vocab, bpe, vocab},
		{alone, "", alone, ""}, {bpe, "", bpe, ""},
	} {
		if !d.exists(tokenizerFile) && d.exists(files[0]) &&
			(files[1] == "" || d.exists(files[1])) {
			return files
		}
	}
	return nil
}

// TokenizerFile returns the name of the file of the tokenizer: tokenizer.json, or the first one of
// [Dir.Pieces].
func (d *Dir) TokenizerFile() string {
	if files := d.piecesFiles(); files != nil {
		return files[0]
	}
	return tokenizerFile
}

// VocabularyFiles returns the names of the files that list the tokens of sources and of targets:
// those of the vocabularies of [Dir.Pieces], or else [Dir.TokenizerFile].
func (d *Dir) VocabularyFiles() (source, target string) {
	if files := d.piecesFiles(); files != nil && files[1] != "" {
		return files[1], files[3]
	}
	return d.TokenizerFile(), d.TokenizerFile()
}

// TokenizerJSON returns the bytes of tokenizer.json. If the file is missing and the directory has a
// tokenizer in another format (vocab.txt, merges.txt, tokenizer.model), the error says how to
// convert it.
func (d *Dir) TokenizerJSON() ([]byte, error) {
	b, err := d.read(tokenizerFile, maxTokenizer)
	return b, d.explainTokenizer(err)
}

// Pieces is a tokenizer of SentencePiece: its file, and vocab.json with the ids of the pieces, nil
// if there is none.
type Pieces struct{ Model, Vocab []byte }

// Pieces returns a tokenizer that has no tokenizer.json, for the texts of sources and for those of
// targets: source.spm and target.spm with vocab.json of Marian, and target_vocab.json if it has
// separate_vocabs; sentencepiece.bpe.model with vocab.json of M2M100, for both; or spiece.model of
// T5 and Pegasus and sentencepiece.bpe.model of mBART and XLM-R without a vocabulary. All are nil
// if the directory does not have them.
func (d *Dir) Pieces() (source, target Pieces, err error) {
	for i, name := range d.piecesFiles() {
		if name == "" {
			continue
		}
		to := []*[]byte{&source.Model, &source.Vocab, &target.Model, &target.Vocab}[i]
		if *to, err = d.read(name, maxTokenizer); err != nil {
			return Pieces{}, Pieces{}, err
		}
	}
	return source, target, nil
}

// TokenizerConfig returns tokenizer_config.json, decoded like [Dir.Config]. It is nil if the file
// is missing. It returns an error if the file is not a JSON object.
func (d *Dir) TokenizerConfig() (map[string]any, error) {
	return d.readOptional(tokenizerConfigFile)
}

// SpecialTokens returns the text of each token that has a role, by key: bos_token, eos_token,
// unk_token, sep_token, pad_token, cls_token, mask_token, and others that end in _token. Keys with
// the value null are left out. The tokens are in tokenizer_config.json. If that file has no
// added_tokens_decoder, special_tokens_map.json has precedence; otherwise special_tokens_map.json
// is ignored, as in the reference implementation. The result is empty if both files are missing. It
// returns an error if a value is neither a text nor an object with a text named content.
func (d *Dir) SpecialTokens() (map[string]string, error) {
	config, err := d.TokenizerConfig()
	if err != nil {
		return nil, err
	}
	tokens := map[string]string{}
	if err := d.addSpecial(tokens, tokenizerConfigFile, config); err != nil {
		return nil, err
	}
	if _, modern := config["added_tokens_decoder"]; modern {
		return tokens, nil
	}
	legacy, err := d.readOptional(specialTokensFile)
	if err != nil {
		return nil, err
	}
	return tokens, d.addSpecial(tokens, specialTokensFile, legacy)
}

// addSpecial adds the tokens of one file to tokens.
func (d *Dir) addSpecial(tokens map[string]string, file string, values map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		// add_bos_token is a flag
		if _, flag := value.(bool); flag || value == nil || !strings.HasSuffix(key, "_token") {
			continue
		}
		object, ok := value.(map[string]any)
		if ok {
			value = object["content"]
		}
		text, ok := value.(string)
		if !ok {
			return pkg.Errorf("%s: %s is %s; it must be a text or an object with a text named "+
				"content", d.path(file), strings.Trim(quoted(key), `"`), shown(values[key]))
		}
		tokens[key] = text
	}
	return nil
}

// ChatTemplates returns the chat templates of the directory, in Jinja, by name: the one without a
// name is called default. The files chat_template.jinja and additional_chat_templates/*.jinja have
// precedence over the key chat_template of tokenizer_config.json, which is one text or a list of
// named ones.
func (d *Dir) ChatTemplates() (map[string]string, error) {
	templates, err := d.templateFiles()
	if err == nil && len(templates) == 0 {
		return d.configTemplates()
	}
	return templates, err
}

// ChatTemplateSource returns where a chat template is, for messages: the path of a file, or the
// path of tokenizer_config.json with the key.
func (d *Dir) ChatTemplateSource(name string) string {
	for _, file := range []string{chatTemplatesDir + "/" + name + ".jinja", chatTemplateFile} {
		if d.exists(file) && (name == defaultTemplate || file != chatTemplateFile) {
			return d.path(file)
		}
	}
	return d.path(tokenizerConfigFile) + ": chat_template"
}

// templateFiles returns the templates in files of their own, by name. A file in
// additional_chat_templates named default.jinja takes the place of chat_template.jinja.
func (d *Dir) templateFiles() (map[string]string, error) {
	files := map[string]string{}
	if d.exists(chatTemplateFile) {
		files[defaultTemplate] = chatTemplateFile
	}
	more, err := fs.Glob(d.fsys, chatTemplatesDir+"/*.jinja")
	if err != nil {
		return nil, pkg.Errorf("%s: %w", d.path(chatTemplatesDir), err)
	}
	for _, file := range more {
		files[strings.TrimSuffix(path.Base(file), ".jinja")] = file
	}
	templates := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		b, err := d.read(files[name], maxConfig)
		if err != nil {
			return nil, err
		}
		if err := validText(b); err != nil {
			return nil, pkg.Errorf("%s: %w", d.path(files[name]), err)
		}
		templates[name] = string(b)
	}
	return templates, nil
}

// configTemplates returns the templates in tokenizer_config.json, by name.
func (d *Dir) configTemplates() (map[string]string, error) {
	config, err := d.TokenizerConfig()
	if err != nil {
		return nil, err
	}
	switch value := config["chat_template"].(type) {
	case nil:
		return nil, nil
	// one template, which is the default
	case string:
		return map[string]string{defaultTemplate: value}, nil
	// [{"name": "default", "template": "…"}, …]
	case []any:
		templates := map[string]string{}
		for i, v := range value {
			object, _ := v.(map[string]any)
			name, named := object["name"].(string)
			text, ok := object["template"].(string)
			if !named || !ok {
				return nil, pkg.Errorf("%s: chat_template[%d] is %s; it must be an object with "+
					"two texts, name and template", d.path(tokenizerConfigFile), i, shown(v))
			}
			templates[name] = text
		}
		return templates, nil
	}
	return nil, pkg.Errorf("%s: chat_template is %s; it must be a text or a list of named ones",
		d.path(tokenizerConfigFile), shown(config["chat_template"]))
}

// readOptional decodes a JSON file. The result is nil if the file is missing. A file that is there
// must be valid: ignoring it would change what a model reads without a word.
func (d *Dir) readOptional(file string) (map[string]any, error) {
	if !d.exists(file) {
		return nil, nil
	}
	b, err := d.read(file, maxConfig)
	if err != nil {
		return nil, err
	}
	return d.decode(file, b)
}
