//go:build cgo && linux && amd64

package xla

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/headwater-ml/headwater/internal/xlaplugin"
)

// setting is some flags of XLA on a CPU.
type setting struct {
	flags string
	// needed are the texts that a plugin must contain for the flags, because XLA ends the program
	// if it does not know a flag.
	needed []string
	// about is in XLA_FLAGS if the user has chosen already.
	about string
	// processor is what the processor must be able to do, as /proc/cpuinfo writes it.
	processor string
}

var settings = []setting{
	// Matrices are multiplied with oneDNN, which has code for each processor (such as AVX-512),
	// while XLA's own library has only the code it was compiled for. Products become half to twice
	// as fast.
	//
	// Not without AVX-512: there oneDNN multiplies batches of matrices in parallel, and each of
	// them in parallel again on the same threads. All threads then wait for one another, and the
	// program stands still: most runs on a prompt of 670 tokens did on a machine of two cores.
	{
		flags: "--xla_cpu_use_onednn=true " +
			"--xla_cpu_experimental_onednn_fusion_type=LIBRARY_FUSION_TYPE_DOT",
		needed: []string{
			"xla_cpu_use_onednn", "xla_cpu_experimental_onednn_fusion_type",
			"LIBRARY_FUSION_TYPE_DOT", "__onednn_fusion",
		},
		about:     "onednn",
		processor: "avx512f",
	},
	// Other operations may use all 512 bits as well, which is a tenth faster.
	{
		flags:  "--xla_cpu_prefer_vector_width=512",
		needed: []string{"xla_cpu_prefer_vector_width"},
		about:  "xla_cpu_prefer_vector_width",
	},
	// XLA writes vector operations itself, so most of what LLVM optimises on top is in vain:
	// compiled graphs are as fast without it, within 3 % of the processor time, and graphs of
	// gradients are compiled in half the time. docs/benchmarks.md has the figures.
	{
		flags:  "--xla_backend_optimization_level=1",
		needed: []string{"xla_backend_optimization_level"},
		about:  "xla_backend_optimization_level",
	},
}

// known has a []bool for each path of a plugin: which of settings it knows.
var known sync.Map

// checkCPU checks a plugin with [xlaplugin.CheckCPU]. It adds the settings that the plugin knows to
// XLA_FLAGS, which the plugin reads when it is loaded, but for those that XLA_FLAGS chooses
// already. And it makes the plugin keep what it compiles.
func checkCPU(path string) error {
	if err := xlaplugin.CheckCPU(path); err != nil {
		return err
	}
	processor, err := processorName("/proc/cpuinfo")
	if err != nil {
		processor = "" // what needs more than any processor has is left out
	}
	flags := withSettings(os.Getenv("XLA_FLAGS"), knows(path), processor)
	if flags != "" {
		if err := os.Setenv("XLA_FLAGS", flags); err != nil {
			return err
		}
	}
	keepCompiled(path, strings.Contains(flags, settings[0].flags))
	return nil
}

// withSettings adds the settings that a plugin knows and a processor can do to the flags of XLA,
// but for those that the flags choose already.
func withSettings(flags string, knows []bool, processor string) string {
	able := strings.Fields(processor)
	for i, s := range settings {
		if !strings.Contains(flags, s.about) && knows[i] &&
			(s.processor == "" || slices.Contains(able, s.processor)) {
			flags = strings.TrimSpace(flags + " " + s.flags)
		}
	}
	return flags
}

// knows reports for each of settings whether a plugin knows its flags.
func knows(path string) []bool {
	if k, ok := known.Load(path); ok {
		return k.([]bool)
	}
	k := make([]bool, len(settings))
	f, err := os.Open(path)
	if err != nil {
		return k
	}
	defer f.Close()
	var words []string
	for _, s := range settings {
		words = append(words, s.needed...)
	}
	missing := missingFrom(f, words)
	for i, s := range settings {
		k[i] = !slices.ContainsFunc(s.needed, func(w string) bool { return missing[w] })
	}
	known.Store(path, k)
	return k
}

// missingFrom returns which words, of less than 256 bytes, do not occur in r.
func missingFrom(r io.Reader, words []string) map[string]bool {
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
	return missing
}
