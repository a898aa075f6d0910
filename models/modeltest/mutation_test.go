package modeltest_test

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/mutant"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models/family"
)

// How many changed configurations TestMutants reads, and from which seed.
var (
	mutants = flag.Int("mutants", 2000, "configurations that TestMutants reads")
	seed    = flag.Uint64("mutant-seed", 1, "seed of TestMutants")
)

// damaged returns a changed configuration, sometimes with a wrong byte.
func damaged(r *rand.Rand, text []byte, pool []string) string {
	v := mutant.Parse(text)
	v.Damage(r, pool)
	text = v.Text()
	if r.IntN(20) == 0 {
		text = mutant.Scratch(r, text)
	}
	return string(text)
}

// goTerms are words of the implementation that a message must not have.
var goTerms = regexp.MustCompile(`unmarshal|\bstruct\b|json:|json\.|strconv|<nil>|map\[|` +
	`interface|%!|float64|int64|runtime error|reflect|invalid character|\bEOF\b|goroutine|\bnil\b`)

// refusal returns what is wrong with an error message about a configuration file with these keys.
func refusal(message, file string, keys map[string]bool) string {
	const most = 1200
	said := regexp.MustCompile(`[a-z_.]+\.json\b`).ReplaceAllString(message, "FILE")
	switch {
	case !strings.Contains(message, file):
		return "does not name the file"
	case len(message) > most:
		return fmt.Sprintf("has %d bytes", len(message))
	case goTerms.MatchString(said):
		return "has a term of the implementation: " + goTerms.FindString(said)
	case strings.Contains(message, "not valid JSON"), strings.Contains(message,
		"not a JSON object"), strings.Contains(message, "not valid UTF-8"),
		strings.Contains(message, "the header, which has no tensors"), strings.Contains(message,
			" is missing"):
		return ""
	}
	if keys[""] && strings.Contains(message, `""`) {
		return ""
	}
	for key := range keys {
		if key != "" && strings.Contains(message, key[:min(len(key), 60)]) {
			return ""
		}
	}
	return "names no key of the file"
}

// sources returns the configurations of all goldens in both styles and the published ones, by name.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	for _, pattern := range []string{"config.json", "config.v4.json"} {
		paths, err := filepath.Glob("../testdata/goldens/*/" + pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("there are no goldens: %v", err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			must(t, err)
			texts[path] = data
		}
	}
	data, err := os.ReadFile("../testdata/published_configs.json")
	must(t, err)
	var file struct {
		Checkpoints []struct {
			Name   string
			Config json.RawMessage
		}
	}
	must(t, json.Unmarshal(data, &file))
	for _, c := range file.Checkpoints {
		texts[c.Name] = c.Config
	}
	return texts
}

// TestMutants changes every known configuration in many ways, as a careless or hostile writer
// would, and reads it. The result is an error or a valid spec. An error names the file and the key,
// is short, and uses no terms of the implementation.
func TestMutants(t *testing.T) {
	texts := sources(t)
	names := slices.Sorted(maps.Keys(texts))
	pool := []string{"sliding_window", "head_dim", "rope_scaling", "rope_theta", "layer_types"}
	for _, name := range names {
		pool = append(pool, mutant.Parse(texts[name]).AllKeys(nil)...)
	}
	slices.Sort(pool)
	pool = slices.Compact(pool)
	r := rand.New(rand.NewPCG(*seed, 0))
	weights, err := os.ReadFile("../testdata/goldens/gpt2/model.safetensors")
	must(t, err)
	seen := map[string]bool{} // problems told
	refused := 0
	for i := range *mutants {
		name := mutant.Pick(r, names)
		text := damaged(r, texts[name], pool)
		problem, isRefused := readMutant(text, weights)
		if isRefused {
			refused++
		}
		if problem != "" && !seen[problem] && len(seen) < 30 {
			seen[problem] = true
			t.Errorf("mutant %d of seed %d, of %s: %s\n%.600s", i, *seed, name, problem, text)
		}
	}
	if refused == 0 || refused == *mutants {
		t.Errorf("%d of %d mutants are refused, want some", refused, *mutants)
	}
}

// readMutant reads a configuration and weights, and returns what is wrong with the result.
func readMutant(text string, weights []byte) (problem string, refused bool) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Sprintf("panic: %v", r)
		}
	}()
	d, err := checkpoint.FromFS(fstest.MapFS{
		"config.json":       {Data: []byte(text)},
		"model.safetensors": {Data: weights},
	}, "m")
	if err == nil {
		defer d.Close()
		var keys map[string]bool
		if keys, err = readDir(d); err == nil {
			return "", false
		}
		problem = refusal(err.Error(), "m/config.json", keys)
	} else {
		problem = refusal(err.Error(), "m/config.json", keysOf(text, nil))
	}
	if problem != "" {
		problem += ": " + err.Error()
	}
	return problem, true
}

// readDir reads the configuration of a directory, and its keys.
func readDir(d *checkpoint.Dir) (keys map[string]bool, err error) {
	keys = map[string]bool{}
	addKeys(keys, d.Config)
	if _, err := d.EOS(); err != nil {
		return keys, err
	}
	_, spec, err := family.Read(family.NewConfig("m/config.json", d.Config))
	if err != nil {
		return keys, err
	}
	if err := spec.Check(); err != nil {
		return keys, fmt.Errorf("Read returns a spec that does not hold together: %w", err)
	}
	return keys, nil
}

func addKeys(to map[string]bool, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			to[key] = true
			addKeys(to, value)
		}
	case []any:
		for _, value := range v {
			addKeys(to, value)
		}
	}
}

// keysOf returns what looks like a key in a text, and further keys.
func keysOf(text string, more map[string]bool) map[string]bool {
	keys := map[string]bool{}
	maps.Copy(keys, more)
	for _, found := range regexp.MustCompile(`"([^"]*)"\s*:`).FindAllStringSubmatch(text, -1) {
		keys[found[1]] = true
	}
	return keys
}

// otherFiles are small versions of the other files of a directory.
var otherFiles = map[string]string{
	"generation_config.json": `{"bos_token_id":1,"eos_token_id":[2,3],"max_length":20,"transformers_version":"5.0"}`,
	"tokenizer_config.json": `{"added_tokens_decoder":{"0":{"content":"<pad>","special":true}},"bos_token":"<s>",
		"eos_token":{"content":"</s>","lstrip":false},"unk_token":null,"add_bos_token":true,
		"chat_template":[{"name":"default","template":"{{ x }}"},{"name":"tool","template":"T"}],"model_max_length":512}`,
	"special_tokens_map.json":      `{"bos_token":"<s>","eos_token":{"content":"</s>"},"additional_special_tokens":["<a>"]}`,
	"model.safetensors.index.json": `{"metadata":{"total_size":8},"weight_map":{"a.weight":"one.safetensors","b.weight":"two.safetensors"}}`,
	"one.safetensors":              `{"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`,
	"two.safetensors":              `{"b.weight":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}`,
}

// safetensors is a file of 8 bytes of data with a header.
func safetensors(header string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, 8)...)
}

// TestMutantFiles does to the files beside config.json what TestMutants does to it.
func TestMutantFiles(t *testing.T) {
	keys, names := map[string]bool{}, slices.Sorted(maps.Keys(otherFiles))
	for _, text := range otherFiles {
		for _, key := range mutant.Parse([]byte(text)).AllKeys(nil) {
			keys[key] = true
		}
	}
	pool := slices.Sorted(maps.Keys(keys))
	r := rand.New(rand.NewPCG(*seed, 1))
	told := 0
	for i := range *mutants {
		name := mutant.Pick(r, names)
		files := fstest.MapFS{"config.json": {Data: []byte("{}")}}
		for file, text := range otherFiles {
			// It does not count if there is an added_tokens_decoder.
			if file == "special_tokens_map.json" && name != file {
				continue
			}
			files[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if name == "special_tokens_map.json" {
			delete(files, "tokenizer_config.json")
		}
		text := damaged(r, []byte(otherFiles[name]), pool)
		files[name] = &fstest.MapFile{Data: []byte(text)}
		for _, file := range []string{"one.safetensors", "two.safetensors"} {
			files[file].Data = safetensors(string(files[file].Data))
		}
		if problem := readFiles(files, name, keysOf(text, keys)); problem != "" && told < 30 {
			told++
			t.Errorf("mutant %d of seed %d, of %s: %s\n%.400s", i, *seed, name, problem, text)
		}
	}
}

// readFiles reads a directory in which one file was changed, and returns what is wrong with the
// result.
func readFiles(files fstest.MapFS, changed string, keys map[string]bool) (problem string) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Sprintf("panic: %v", r)
		}
	}()
	read := func() error {
		d, err := checkpoint.FromFS(files, "m")
		if err != nil {
			return err
		}
		defer d.Close()
		_, eos := d.EOS()
		_, special := d.SpecialTokens()
		_, template := d.ChatTemplates()
		return cmp.Or(eos, special, template)
	}
	err := read()
	if err == nil {
		return ""
	}
	if problem := refusal(err.Error(), changed, keys); problem != "" {
		return problem + ": " + err.Error()
	}
	return ""
}

var must = testhelp.Must // ends a test at an error
