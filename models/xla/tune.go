//go:build cgo && linux && amd64

package xla

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/headwater-ml/headwater/internal/xlaplugin"
)

// fastProducts makes XLA on a CPU multiply matrices by oneDNN, which has code for the processor at hand (AVX-512), where its own library
// has what it was compiled for: half to twice as fast. The rest may use all 512 bits as well, a tenth faster.
const fastProducts = "--xla_cpu_use_onednn=true --xla_cpu_experimental_onednn_fusion_type=LIBRARY_FUSION_TYPE_DOT --xla_cpu_prefer_vector_width=512"

// needed are what a plugin must contain for fastProducts: XLA ends the program over a flag that it does not know.
var needed = []string{"xla_cpu_use_onednn", "xla_cpu_prefer_vector_width", "xla_cpu_experimental_onednn_fusion_type", "LIBRARY_FUSION_TYPE_DOT", "__onednn_fusion"}

var tuned sync.Map // path of a plugin -> bool

// checkCPU is [xlaplugin.CheckCPU]. A plugin that passes is told to use its fast matrix products by the environment, which it reads when
// it is loaded; a choice about oneDNN that stands in XLA_FLAGS already is left alone.
func checkCPU(path string) error {
	if err := xlaplugin.CheckCPU(path); err != nil {
		return err
	}
	flags := os.Getenv("XLA_FLAGS")
	if strings.Contains(flags, "onednn") || !fast(path) {
		return nil
	}
	return os.Setenv("XLA_FLAGS", strings.TrimSpace(flags+" "+fastProducts))
}

// fast reports whether a plugin knows fastProducts.
func fast(path string) bool {
	if known, ok := tuned.Load(path); ok {
		return known.(bool)
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	is := containsAll(f, needed)
	tuned.Store(path, is)
	return is
}

// containsAll reports whether all words, of less than 256 bytes, occur in r.
func containsAll(r io.Reader, words []string) bool {
	missing := map[string]bool{}
	for _, w := range words {
		missing[w] = true
	}
	buf := make([]byte, 1<<20)
	kept := 0
	for len(missing) > 0 {
		n, err := io.ReadFull(r, buf[kept:])
		data := buf[:kept+n]
		for _, w := range words {
			if missing[w] && bytes.Contains(data, []byte(w)) {
				delete(missing, w)
			}
		}
		if err != nil {
			break
		}
		kept = copy(buf, data[len(data)-256:])
	}
	return len(missing) == 0
}
