package hub

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/message"
)

const (
	configFile    = "config.json"
	tokenizerFile = "tokenizer.json"
	weightsFile   = "model.safetensors"
	indexFile     = "model.safetensors.index.json"
	templates     = "additional_chat_templates/*.jinja"
)

var (
	// optional are the small files that are read if a model has them.
	optional = []string{
		"chat_template.jinja", "generation_config.json", "special_tokens_map.json", tokenizerFile,
		"tokenizer_config.json",
	}
	// otherTokenizers are tokenizers in other formats. Those of models of two stacks are read, and
	// of the others tokenizer.json can be made.
	otherTokenizers = []string{
		"added_tokens.json", "merges.txt", "sentencepiece.bpe.model", "spiece.model",
		"source.spm", "target.spm", "tokenizer.model", "vocab.json", "vocab.txt",
	}
	// pickled are patterns of weights that are not downloaded. They are here for the error message.
	pickled = []string{"*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.gguf"}
)

// small returns the files of a repository that are read in addition to the weights, sorted.
func small(files []string) []string {
	var out []string
	whole := slices.Contains(files, tokenizerFile)
	for _, f := range slices.Sorted(slices.Values(files)) {
		template, _ := path.Match(templates, f)
		if f == configFile || template || slices.Contains(optional, f) ||
			(!whole && slices.Contains(otherTokenizers, f)) {
			out = append(out, f)
		}
	}
	return out
}

// weightFiles returns the files of a snapshot that are weights or the list of their shards, sorted.
func weightFiles(files []string) []string {
	var out []string
	for _, f := range slices.Sorted(slices.Values(files)) {
		if f == indexFile || strings.HasSuffix(f, ".safetensors") {
			out = append(out, f)
		}
	}
	return out
}

// checkWeights returns whether the weights are one file. It returns an error if there are no
// weights that can be read.
func checkWeights(files []string) (single bool, err error) {
	if slices.Contains(files, weightsFile) {
		return true, nil
	}
	if slices.Contains(files, indexFile) {
		return false, nil
	}
	for _, f := range slices.Sorted(slices.Values(files)) {
		for _, pattern := range pickled {
			if ok, _ := path.Match(pattern, f); ok {
				return false, &notConverted{f}
			}
		}
	}
	return false, fmt.Errorf("it has neither %s nor %s", weightsFile, indexFile)
}

// notConverted is the error for a repository whose weights are in another format.
type notConverted struct{ file string }

func (e *notConverted) Error() string { return "it has no " + weightsFile + ", only " + e.file }

// convert returns Python code that converts the weights. A Ref has no characters that would need
// quotes in Python.
func (r Ref) convert() string {
	return fmt.Sprintf(`convert it once in Python, and name the folder in place of the model:
	from transformers import AutoModelForCausalLM, AutoTokenizer
	AutoModelForCausalLM.from_pretrained(%q, revision=%q).save_pretrained("converted")
	AutoTokenizer.from_pretrained(%q, revision=%q).save_pretrained("converted")`, r.Repo, r.Revision, r.Repo, r.Revision)
}

// maxIndex is the largest list of shards in bytes. The lists of the largest models have 10 MB.
const maxIndex = 64 << 20

// shards returns the files in a list of shards, sorted, each once.
func shards(index []byte) ([]string, error) {
	var list struct {
		WeightMap map[string]json.RawMessage `json:"weight_map"`
	}
	if err := json.Unmarshal(index, &list); err != nil {
		return nil, fmt.Errorf("%s is not a list of shards: %s", indexFile, message.NotJSON(err))
	}
	if len(list.WeightMap) == 0 {
		return nil, fmt.Errorf("%s has no weight_map", indexFile)
	}
	var files []string
	for _, tensor := range slices.Sorted(maps.Keys(list.WeightMap)) {
		var file *string // null leaves it nil
		if json.Unmarshal(list.WeightMap[tensor], &file) != nil || file == nil {
			return nil, fmt.Errorf("%s: what weight_map has for the tensor %q is not the name of "+
				"a file", indexFile, shortened(tensor))
		}
		files = append(files, *file)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	for _, f := range files {
		if !safe(f) || !strings.HasSuffix(f, ".safetensors") {
			return nil, fmt.Errorf("%s names the file %q, which is not a safetensors file of the "+
				"repository", indexFile, shortened(f))
		}
	}
	return files, nil
}

// safe returns whether a file of a repository stays below its snapshot on every system.
func safe(file string) bool {
	return fs.ValidPath(file) && file != "." && len(file) <= 1000 &&
		!strings.ContainsAny(file, "\\:\x00")
}
