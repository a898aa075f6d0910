package models

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

// source is what a model is opened from: a directory in the layout of Hugging Face, or a GGUF file.
type source interface {
	// Label is what messages call the source.
	Label() string
	// Read returns the family of the model, with the names that tensors have here, and its spec.
	Read() (*family.Family, *spec.Spec, error)
	// padIDs are the values of pad_token_id, as the source writes them, the first to count first.
	padIDs() []any
	// tensors returns the weights.
	tensors() tensorFile
	// explain adds to an error of the family where in the source its keys come from.
	explain(err error) error

	// Title returns the name that the source gives the model, "" if it gives none.
	Title() string
	HasTokenizer() bool
	// TokenizerJSON returns the tokenizer in the format of tokenizer.json.
	TokenizerJSON() ([]byte, error)
	TokenizerName() string
	// VocabularyNames returns where the tokens of sources and those of targets are listed.
	VocabularyNames() (source, target string)
	// Pieces returns the files of a tokenizer of SentencePiece; see [checkpoint.Dir.Pieces].
	Pieces() (source, target checkpoint.Pieces, err error)
	// tokenizerConfig returns what else says how the tokenizer works.
	tokenizerConfig() (tokenizer.Config, error)
	EOS() ([]int, error)
	SpecialTokens() (map[string]string, error)
	ChatTemplates() (map[string]string, error)
	ChatTemplateSource(name string) string
	// ForgetTokenizer frees what is only needed to read tokenizer and chat template.
	ForgetTokenizer()
	Hash(ctx context.Context) (string, error)
	Close() error
}

// tensorFile is the weights of a source.
type tensorFile interface {
	family.Tensors
	Name() string
	FileOf(name string) string
	Float64At(dst []float64, name string, first int) error
	// Stored returns how many numbers the tensors have, and how many bytes they take in the file.
	Stored() (numbers, bytes int64)
}

// directory is a source in the layout of Hugging Face.
type directory struct{ *checkpoint.Dir }

// Label returns the path or name of the directory.
func (d directory) Label() string { return d.Name }

// Title returns "": what config.json says of a name is the folder of who wrote it.
func (d directory) Title() string { return "" }

// Read reads config.json.
func (d directory) Read() (*family.Family, *spec.Spec, error) {
	f, s, err := family.Read(family.NewConfig(d.Name+"/config.json", d.Config))
	if err != nil {
		return f, s, err
	}
	s.Remarks = append(s.Remarks, d.Remarks...)
	return f, s, d.readTarget(s)
}

// readTarget reads how the target of a model of two stacks begins. generation_config.json has
// precedence. Where a file has no decoder_start_token_id, bos_token_id counts, as in transformers.
func (d directory) readTarget(s *spec.Spec) error {
	if s.Encoder == 0 {
		return nil
	}
	if config, err := d.TokenizerConfig(); err == nil && config["separate_vocabs"] == true &&
		s.SourceVocab == 0 {
		return pkg.Errorf("%s: tokenizer_config.json has separate_vocabs, but in config.json "+
			"source and target share one embedding (share_encoder_decoder_embeddings): the two "+
			"are of different models", d.Name)
	}
	const startKey, firstKey = "decoder_start_token_id", "forced_bos_token_id"
	start, err := d.TokenIDs(startKey, "bos_token_id")
	if err == nil {
		s.TargetFirst, err = d.TokenIDs(firstKey)
	}
	if len(start) == 1 {
		s.TargetStart = start[0]
	}
	if err == nil && (len(start) > 1 || len(s.TargetFirst) > 1) {
		err = pkg.Errorf("%s: %s and %s are %v and %v; want at most one id each", d.Name, startKey,
			firstKey, start, s.TargetFirst)
	}
	return cmp.Or(err, s.Check())
}

func (d directory) padIDs() []any {
	const key = "pad_token_id"
	return []any{d.Generation[key], d.Config[key]}
}

func (d directory) tensors() tensorFile { return packed(d.Weights) }

func (d directory) explain(err error) error { return err }

// TokenizerName returns the path of the file of the tokenizer.
func (d directory) TokenizerName() string { return d.Name + "/" + d.TokenizerFile() }

// VocabularyNames returns the path of the file of the tokenizer, or of those of its vocabularies.
func (d directory) VocabularyNames() (source, target string) {
	source, target = d.VocabularyFiles()
	return d.Name + "/" + source, d.Name + "/" + target
}

func (d directory) tokenizerConfig() (c tokenizer.Config, err error) {
	if c.Settings, err = d.TokenizerConfig(); err != nil {
		return c, err
	}
	c.ModelType, _ = d.Config["model_type"].(string)
	named, _ := c.Settings["tokenizer_class"].(string)
	own, _ := d.Config["tokenizer_class"].(string)
	c.Class = cmp.Or(named, own)
	c.Special, err = d.SpecialTokens()
	return c, err
}

// Pieces returns what the keys of a GGUF file were made of, for one kind of tokenizer.
func (f ggufFile) Pieces() (source, target checkpoint.Pieces, err error) {
	pieces := checkpoint.Pieces{Model: f.Model.Pieces()}
	return pieces, pieces, nil
}

// ForgetTokenizer does nothing: a directory keeps nothing of its tokenizer.
func (d directory) ForgetTokenizer() {}

// ggufFile is a source in the GGUF format.
type ggufFile struct{ *gguf.Model }

func (f ggufFile) padIDs() []any { return []any{f.Config["pad_token_id"]} }

func (f ggufFile) tensors() tensorFile { return f.Weights }

// tokenizerConfig is empty for most files: a GGUF file says all in its own keys. Pieces of
// SentencePiece are numbered as those of T5, and the places that a text leaves open are among them.
func (f ggufFile) tokenizerConfig() (c tokenizer.Config, err error) {
	if f.HasPieces() {
		c.Class, c.Settings = "T5Tokenizer", map[string]any{"extra_ids": 0}
		c.Special, err = f.SpecialTokens()
	}
	return c, err
}

func (f ggufFile) explain(err error) error { return f.Explain(err) }

// openSource opens what is at a path: a directory, or else a GGUF file with a PreTokenizer of
// [Options].
func openSource(path, pre string) (source, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		m, err := gguf.OpenAs(path, pre)
		if err != nil {
			return nil, err
		}
		return ggufFile{m}, nil
	}
	if pre != "" {
		return nil, notGGUF(path)
	}
	dir, err := checkpoint.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return directory{dir}, nil
}

// notGGUF is the error for a PreTokenizer of a model that is no GGUF file.
func notGGUF(name string) error {
	return usagef("%s is not a GGUF file, so its tokenizer needs no %s; leave it out", name,
		trace.Called("pre-tokenizer", "PreTokenizer"))
}

// summed is a GGUF file whose SHA-256 must be a known one.
type summed struct {
	source
	at location
}

// Hash returns what [gguf.Model.Hash] does: the SHA-256 of that of the file.
func (s summed) Hash(ctx context.Context) (string, error) {
	hash, err := s.source.Hash(ctx)
	if err != nil {
		return "", err
	}
	sum, err := hex.DecodeString(s.at.sum)
	if err != nil {
		return "", pkg.Errorf("%s: %w", s.at.path, err)
	}
	if all := sha256.Sum256(sum); hash != hex.EncodeToString(all[:]) {
		return "", pkg.Errorf("%s is damaged: its SHA-256 is not %s; ollama pull "+
			"downloads it again", s.at.path, s.at.sum)
	}
	return hash, nil
}
