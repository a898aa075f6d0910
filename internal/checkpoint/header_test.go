package checkpoint

import (
	"fmt"
	"strings"
	"testing"
)

// A header may be long, but must not name so many tensors that their list fills the memory.
func TestTooManyTensors(t *testing.T) {
	var header strings.Builder
	for i := range maxTensors + 1 {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		fmt.Fprintf(&header, `%s"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`, sep, i)
	}
	_, err := FromBytes("many", file(header.String()+"}"))
	if err == nil ||
		!strings.Contains(err.Error(), "checkpoint: many: header: more than 131072 tensors") {
		t.Errorf("error %v, want one about the number of tensors", err)
	}
}
