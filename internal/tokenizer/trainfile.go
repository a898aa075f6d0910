package tokenizer

import "fmt"

// The parts of a trained tokenizer other than its model. Offsets are not trimmed, so they cover the
// text without gaps.
const (
	trainedPre = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,` +
		`"use_regex":true}`
	trainedPrefixed = `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,` +
		`"use_regex":true}`
	trainedPost = `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,` +
		`"use_regex":true}`
)

// trainedFile returns the file of a trained tokenizer without its model.
func trainedFile(specials []string) file {
	f := file{
		Version:       "1.0",
		AddedTokens:   []addedToken{},
		PreTokenizer:  []byte(trainedPre),
		PostProcessor: []byte(trainedPost),
		Decoder:       []byte(trainedPre),
	}
	for id, s := range specials {
		f.AddedTokens = append(f.AddedTokens, addedToken{ID: uint32(id), Content: s, Special: true})
	}
	return f
}

// beginTemplate returns the post_processor that puts a control token before a text.
func beginTemplate(content string, id int) []byte {
	name, err := marshal(content)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	special := fmt.Sprintf(`{"SpecialToken":{"id":%s,"type_id":0}}`, name)
	a, b := `{"Sequence":{"id":"A","type_id":0}}`, `{"Sequence":{"id":"B","type_id":1}}`
	return fmt.Appendf(nil,
		`{"type":"TemplateProcessing","single":[%s,%s],"pair":[%s,%s,%s],`+
			`"special_tokens":{%s:{"id":%s,"ids":[%d],"tokens":[%s]}}}`,
		special, a, special, a, b, name, name, id, name)
}

// tokenizer builds the tokenizer as [Parse] would from the file.
func (b *trainer) tokenizer(f file) (*Tokenizer, error) {
	head, err := marshal(bpeFile{Type: "BPE"})
	if err != nil {
		return nil, pkg.Errorf("Train: %w", err)
	}
	m := modelFile{kind: "BPE", small: head, merges: b.merges}
	for id, content := range b.contents {
		m.tokens = append(m.tokens, vocabItem{content, id})
	}
	t, err := build(f, m)
	if err != nil {
		return nil, pkg.Errorf("Train: %w", err)
	}
	return t, nil
}
