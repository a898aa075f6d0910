package family

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

// stackNames are how the parameters of layers are named in the tables of families with two stacks,
// with the number of the block in its stack.
var stackNames = map[spec.Stack]string{
	spec.Encoding: "encoding", spec.Decoding: "decoding", spec.Crossing: "crossing",
}

// InStack returns the name of a parameter of a layer in the tables of families with two stacks:
// blocks.L.query.weight is crossing.3.query.weight if layer L crosses in block 3 of the decoder.
// The embedding is the target-embedding if the source has another one. Other names stay.
func InStack(s *spec.Spec, param string) string {
	if s != nil && s.SourceVocab > 0 && param == "embedding" {
		return "target-embedding"
	}
	rest, ok := strings.CutPrefix(param, "blocks.")
	number, rest, isLayer := strings.Cut(rest, ".")
	l, err := strconv.Atoi(number)
	if s == nil || s.Encoder == 0 || !ok || !isLayer || err != nil {
		return param
	}
	stack, block := s.Stack(l), l
	if stack != spec.Encoding {
		block = (l - s.Encoder) / 2
	}
	return stackNames[stack] + "." + strconv.Itoa(block) + "." + rest
}

// stacks sets the layers of two stacks with so many blocks.
func stacks(s *spec.Spec, encoder, decoder int) {
	most := spec.MaxSize("Layers") // beyond it the spec is refused
	s.Encoder, s.Layers = encoder, min(encoder, most)+2*min(decoder, most)
}

// sameInStacks reads a size that both stacks of the reference have under names of their own. The
// graph has one size for both.
func sameInStacks(c *Config, field, key string) int {
	encoder, decoder := "encoder_"+key, "decoder_"+key
	n := c.Size(field, encoder)
	if other := c.Int(n, decoder); other != n {
		c.fail("%s is %d, but %s is %d; they must be the same", encoder, n, decoder, other)
	}
	return n
}

// targetEnds reads the ids that begin and end the target.
func targetEnds(c *Config, s *spec.Spec, start int) {
	c.AllowNull("decoder_start_token_id")
	s.TargetStart = c.Int(start, "decoder_start_token_id")
	s.BOS, s.EOS = -1, c.ints("eos_token_id")
	if v, key := c.fallback("eos_token_id"); v != nil {
		s.EOS = []int{c.integer(v, key, 0, math.MaxInt32)}
	}
	s.TargetFirst = slices.DeleteFunc(c.ints("forced_bos_token_id"),
		func(id int) bool { return id < 0 })
	c.setOrigin("TargetStart", "decoder_start_token_id")
	c.setOrigin("TargetFirst", "forced_bos_token_id")
	c.setOrigin("EOS", "eos_token_id")
	c.ignore("id2label", "num_labels") // a head of classes is not opened
	if headless(c) && !slices.Contains(c.Strings("architectures"), "MarianMTModel") {
		s.Head = spec.NoHead
	}
}
