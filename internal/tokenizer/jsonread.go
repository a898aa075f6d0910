package tokenizer

import (
	"fmt"
	"strconv"

	"github.com/headwater-ml/headwater/internal/jsonread"
)

// readID reads the id of a token. Ids have 32 bits, as in the reference.
func readID(r *jsonread.Reader) (int, error) {
	text, err := r.Number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("id %.40s is not a number from 0 to %d", text, uint32(1<<32-1))
	}
	return int(n), nil
}

// maxSection is how many bytes a section may have, without vocabulary, merges and added tokens. The
// largest in use, with a map of characters, have about 1 MB.
const maxSection = 8 << 20

// sections reads the object data. The functions in large read the values of their keys; all other
// keys come back as an object, which is not checked yet. So each byte of a file is read once, and
// the large parts without reflection.
func sections(data []byte, large map[string]func(*jsonread.Reader) error) (
	small []byte, err error,
) {
	r := jsonread.AsRust(data)
	small = []byte{'{'}
	err = r.Object(func(key string) error {
		if read, ok := large[key]; ok {
			return read(r)
		}
		value, err := r.Raw()
		if err != nil {
			return err
		}
		// There may be as many added tokens as a vocabulary has.
		if key != "added_tokens" && len(value) > maxSection {
			return atKey(cutKey(key),
				fmt.Errorf("%d bytes, the limit is %d; is this a tokenizer.json?", len(value),
					maxSection))
		}
		name, err := marshal(key)
		if err != nil {
			return err
		}
		if len(small) > 1 {
			small = append(small, ',')
		}
		small = append(append(append(small, name...), ':'), value...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(small, '}'), r.End()
}
