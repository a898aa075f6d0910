package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// checkTruncation checks the section truncation. It is about batches, which this package does not
// make: a caller gets every token of a text. It must be valid all the same.
func checkTruncation(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var f struct {
		Direction *string `json:"direction"`
		MaxLength uint32  `json:"max_length" need:"true"`
		Strategy  string  `json:"strategy"`
		Stride    uint32  `json:"stride" need:"true"`
	}
	if err := decodeStrict(raw, &f); err != nil {
		return err
	}
	// which of two texts is truncated
	switch f.Strategy {
	case "LongestFirst", "OnlyFirst", "OnlySecond":
		return checkDirection(f.Direction)
	}
	return &unsupportedError{
		"strategy", fmt.Sprintf("%.80q", f.Strategy),
		[]string{"LongestFirst", "OnlyFirst", "OnlySecond"},
	}
}

// checkPadding checks the section padding, which is about batches too. The strategy is the text
// "BatchLongest" or an object with a length.
func checkPadding(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var f struct {
		Strategy   json.RawMessage `json:"strategy" need:"true"`
		Direction  string          `json:"direction" need:"true"`
		MultipleOf *uint32         `json:"pad_to_multiple_of"`
		ID         uint32          `json:"pad_id" need:"true"`
		TypeID     uint32          `json:"pad_type_id" need:"true"`
		Token      string          `json:"pad_token" need:"true"`
	}
	if err := decodeStrict(raw, &f); err != nil {
		return err
	}
	if !bytes.Equal(f.Strategy, []byte(`"BatchLongest"`)) {
		var fixed struct{ Fixed *uint32 }
		if err := decodeStrict(f.Strategy, &fixed); err != nil || fixed.Fixed == nil {
			return &unsupportedError{
				"strategy", fmt.Sprintf("%.80s", f.Strategy),
				[]string{`"BatchLongest"`, `{"Fixed":n}`},
			}
		}
	}
	return checkDirection(&f.Direction)
}

// checkDirection checks where a text is truncated or padded. Older files lack the direction of
// truncation; it is Right then.
func checkDirection(direction *string) error {
	if direction == nil || *direction == "Left" || *direction == "Right" {
		return nil
	}
	return &unsupportedError{
		"direction", fmt.Sprintf("%.80q", *direction), []string{"Left", "Right"},
	}
}
