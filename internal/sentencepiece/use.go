// Package sentencepiece has the uses of pieces, as files of SentencePiece and GGUF files number
// them (sentencepiece_model.proto, ModelProto.SentencePiece.Type; tokenizer.ggml.token_type).
package sentencepiece

// Use is what a piece of a vocabulary is for.
type Use uint64

// The uses.
const (
	Ordinary Use = 1 + iota
	Unknown
	Control
	User   // one that is searched for in the text before anything else
	Unused // one that no text has
	Byte   // one for a byte of text without any other
)
