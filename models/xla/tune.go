//go:build cgo && linux && amd64

package xla

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/cpu"

	"github.com/headwater-ml/headwater/internal/xlaplugin"
)

// setting is some flags of XLA.
type setting struct {
	flags string
	// needed are the texts that a plugin must contain for the flags, because XLA ends the program
	// if it does not know a flag.
	needed []string
	// about is in XLA_FLAGS if the user has chosen already.
	about string
	// fits reports whether the flags are good for a processor with AVX-512 or without it; nil: for
	// every one.
	fits func(avx512 bool) bool
}

// onCPU and onCUDA are the settings for each kind of plugin.
var onCPU = []setting{
	// Matrices are multiplied with oneDNN, which has code for each processor (such as AVX-512),
	// while XLA's own library has only the code it was compiled for. Products become half to twice
	// as fast. Other operations may use all 512 bits as well, which is a tenth faster.
	//
	// Without AVX-512, oneDNN splits a product among the threads of XLA and then each part again.
	// If a part begins before XLA has noted that the threads are in use, they wait for each other
	// forever: long prompts hung on a busy machine.
	{
		flags: "--xla_cpu_use_onednn=true " +
			"--xla_cpu_experimental_onednn_fusion_type=LIBRARY_FUSION_TYPE_DOT " +
			"--xla_cpu_prefer_vector_width=512",
		needed: []string{
			"xla_cpu_use_onednn", "xla_cpu_prefer_vector_width",
			"xla_cpu_experimental_onednn_fusion_type", "LIBRARY_FUSION_TYPE_DOT", "__onednn_fusion",
		},
		about: "onednn",
		fits:  func(avx512 bool) bool { return avx512 },
	},
	{
		flags:  "--xla_cpu_use_onednn=false",
		needed: []string{"xla_cpu_use_onednn"},
		about:  "onednn",
		fits:   func(avx512 bool) bool { return !avx512 },
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

var onCUDA = []setting{
	// Products are those of cuBLAS. XLA would write some kernels of its own for each product and
	// time them: the first explained token of a model of a billion parameters waited 22 s for its
	// graphs instead of 4 s, and a token was 2 ms faster. docs/benchmarks.md has the figures.
	{
		flags:  "--xla_gpu_enable_triton_gemm=false",
		needed: []string{"xla_gpu_enable_triton_gemm"},
		about:  "xla_gpu_enable_triton_gemm",
	},
}

// hasAVX512 reports whether the processor has what oneDNN needs for its newer way to multiply.
func hasAVX512() bool {
	x := cpu.X86
	return x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL
}

// known has a []bool for each path of a plugin: which of its settings it knows.
var known sync.Map

// checkCPU checks a plugin with [xlaplugin.CheckCPU] and sets its flags. And it makes the plugin
// keep what it compiles, and the memory that it used before.
func checkCPU(path string) error {
	if err := xlaplugin.CheckCPU(path); err != nil {
		return err
	}
	flags, err := setFlags(path, onCPU)
	if err != nil {
		return err
	}
	holdMemory()
	replaceCompile(path, strings.Contains(flags, onCPU[0].flags))
	return nil
}

// setFlags adds the settings that a plugin knows to XLA_FLAGS, which the plugin reads when it is
// loaded, but for those that XLA_FLAGS chooses already.
func setFlags(path string, all []setting) (flags string, err error) {
	flags = choose(os.Getenv("XLA_FLAGS"), all, knows(path, all), hasAVX512())
	if flags == "" {
		return "", nil
	}
	return flags, os.Setenv("XLA_FLAGS", flags)
}

// choose adds to XLA_FLAGS the settings that a plugin knows and that are good for the processor.
func choose(flags string, all []setting, knows []bool, avx512 bool) string {
	chosen := flags
	for i, s := range all {
		if !strings.Contains(chosen, s.about) && knows[i] && (s.fits == nil || s.fits(avx512)) {
			flags = strings.TrimSpace(flags + " " + s.flags)
		}
	}
	return flags
}

// knows reports for each of the settings of a plugin whether it knows the flags.
func knows(path string, all []setting) []bool {
	if k, ok := known.Load(path); ok {
		return k.([]bool)
	}
	k := make([]bool, len(all))
	f, err := os.Open(path)
	if err != nil {
		return k
	}
	defer f.Close()
	var words []string
	for _, s := range all {
		words = append(words, s.needed...)
	}
	missing := missingFrom(f, words)
	for i, s := range all {
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
