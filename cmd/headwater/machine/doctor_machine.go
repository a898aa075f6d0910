package machine

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/headwater-ml/headwater/internal/hostmemory"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
)

// machineFacts are what a machine has; bytes are 0 where they are not known.
type machineFacts struct {
	CPU   string `json:"cpu,omitempty"`
	Cores int    `json:"cores"`
	// Threads is how many cores Go uses at once.
	Threads int `json:"threads"`
	// Memory is in bytes: of the machine, or what this process may use if that is less; Available
	// is what is free of it.
	Memory    int64 `json:"memory"`
	Available int64 `json:"available"`
	// LimitedBy is what limits Available, if the machine has more.
	LimitedBy string `json:"limited_by,omitempty"`
	GPU       bool   `json:"gpu"`
}

// machine looks at the machine.
func machine() machineFacts {
	m := machineFacts{
		Cores: runtime.NumCPU(), Threads: runtime.GOMAXPROCS(0), GPU: xlaplugin.HasGPU(),
	}
	m.CPU = field("/proc/cpuinfo", "model name")
	m.Memory, m.Available, m.LimitedBy = hostmemory.Read("/")
	return m
}

// field returns the value of a name in a file with lines "name: value".
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// String is one line on a machine.
func (m machineFacts) String() string {
	parts := []string{fmt.Sprintf("%d cores", m.Cores)}
	if m.CPU != "" {
		parts[0] += " of " + m.CPU
	}
	if m.Threads != m.Cores {
		parts = append(parts, fmt.Sprintf("Go uses %d", m.Threads))
	}
	if m.Memory > 0 {
		parts = append(parts, fmt.Sprintf("memory %.1f GiB, %.1f free", float64(m.Memory)/(1<<30),
			float64(m.Available)/(1<<30)))
	}
	if m.LimitedBy != "" {
		parts = append(parts, "limited by "+m.LimitedBy)
	}
	if m.GPU {
		parts = append(parts, "an NVIDIA GPU")
	}
	return strings.Join(parts, ", ")
}

// settingMeaning is an environment variable that Headwater, or a library in it, reads.
type settingMeaning struct {
	Name string `json:"name"`
	Set  bool   `json:"set"`
	// Shown is its value, or that it is set for one that is secret.
	Shown   string `json:"shown"`
	Meaning string `json:"meaning"`
}

// settings lists the variables with their values and meanings.
func settings(lookup func(string) (string, bool)) []settingMeaning {
	var all []settingMeaning
	for _, s := range []struct{ name, meaning string }{
		{xlaplugin.Env, "path of the XLA plugin for CPUs, before all other places"},
		{xlaplugin.CUDAEnv, "path of the XLA plugin for GPUs, " +
			"or of the site-packages that hold it"},
		{hub.ModelsVariable, "folder with GGUF files that short names mean, as smollm2/FILE.gguf"},
		{"OLLAMA_MODELS", "folder of Ollama's models (default ~/.ollama/models)"},
		{"HF_HOME", "folder of Hugging Face's cache (default ~/.cache/huggingface)"},
		{"HF_HUB_CACHE", "folder of downloaded models (default hub in HF_HOME)"},
		{"HF_HUB_OFFLINE", "1: never ask the Hub"},
		{"HF_TOKEN", "token for models that need one"},
		{"HF_ENDPOINT", "address of the Hub (default https://huggingface.co)"},
		{"GOMLX_BACKEND", "not heeded: --backend says what computes"},
		{"XLA_FLAGS", "options for XLA's compiler"},
		{"LD_LIBRARY_PATH", "where the system looks for CUDA's libraries first"},
		{"CUDA_VISIBLE_DEVICES", "which GPUs there are for this program"},
		{"GOMAXPROCS", "how many cores Go uses at once"},
		{"HEADWATER_COMPILE_CACHE", "folder of compiled graphs, or off " +
			"(default headwater/compiled in the user's cache)"},
		{"HEADWATER_ENGINE", "program that notebooks start in place of headwater"},
		{"HEADWATER_ENGINE_MEMORY", "what the models of a notebook may take together, " +
			"such as 12GB"},
		{"HEADWATER_ENGINE_MODELS", "how many models a notebook keeps open (default 4)"},
		{"NO_COLOR", "not empty: no colours in text"},
	} {
		value, ok := lookup(s.name)
		shown := value
		switch {
		case !ok:
			shown = "not set"
		case value == "":
			shown = "empty"
		case strings.HasSuffix(s.name, "TOKEN"):
			shown = "set"
		}
		all = append(all, settingMeaning{Name: s.name, Set: ok, Shown: shown, Meaning: s.meaning})
	}
	return all
}
