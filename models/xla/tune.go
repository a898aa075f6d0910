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

// fastProducts makes XLA on a CPU multiply matrices with oneDNN, which has code for each processor
// (such as AVX-512), while XLA's own library has only the code it was compiled for. Products become
// half to twice as fast. Other operations may use all 512 bits as well, which is a tenth faster.
const fastProducts = "--xla_cpu_use_onednn=true " +
	"--xla_cpu_experimental_onednn_fusion_type=LIBRARY_FUSION_TYPE_DOT " +
	"--xla_cpu_prefer_vector_width=512"

// needed are the texts that a plugin must contain for fastProducts, because XLA ends the program if
// it does not know a flag.
var needed = []string{
	"xla_cpu_use_onednn", "xla_cpu_prefer_vector_width",
	"xla_cpu_experimental_onednn_fusion_type", "LIBRARY_FUSION_TYPE_DOT", "__onednn_fusion",
}

var tuned sync.Map // path of a plugin -> bool

// checkCPU checks a plugin with [xlaplugin.CheckCPU]. If the plugin knows fastProducts, checkCPU
// adds them to XLA_FLAGS, which the plugin reads when it is loaded. It leaves XLA_FLAGS unchanged
// if they already say something about oneDNN.
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
