package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"

	"github.com/headwater-ml/headwater/internal/message"
)

// foreign is a file with the same content in a format that is not read here, and the Python code
// that converts it, or "" for a file that can be opened by its own path. In the code MODEL stands
// for the class of the model, FILE for the quoted file name and DIR for the quoted directory.
type foreign struct{ file, python string }

// foreignWeights are patterns for path.Match. The first one with a matching file is reported. The
// pickle formats come first: if a directory has several formats, the others were made from
// PyTorch's.
var foreignWeights = []foreign{
	{"pytorch_model.bin.index.json", saveModel("")},
	{"pytorch_model.bin", saveModel("")},
	{"pytorch_model-*.bin", saveModel("")},
	{"adapter_model.*", `
	from peft import AutoPeftModelForCausalLM
	AutoPeftModelForCausalLM.from_pretrained(DIR).merge_and_unload().save_pretrained(DIR)`},
	{"tf_model.h5", saveModel(", from_tf=True") + "  # transformers before 5"},
	{"flax_model.msgpack", saveModel(", from_flax=True") + "  # transformers before 5"},
	{"*.gguf", ""},
	{"*.pt", saveState},
	{"*.pth", saveState},
	{"*.ckpt", saveState},
}

// bookkeeping are files in the same formats that training leaves beside the weights.
var bookkeeping = regexp.MustCompile(`^(optimizer|scheduler|scaler|rng_state.*)\.(pt|pth)$`)

// saveModel returns code that loads the model with an option and saves it, by default as
// safetensors.
func saveModel(option string) string {
	return `
	from transformers import MODEL
	MODEL.from_pretrained(DIR` + option + `).save_pretrained(DIR)`
}

// saveState converts a file of tensors by name. It clones them, because safetensors refuses tensors
// that share memory, as tied weights do.
const saveState = `
	import os, torch, safetensors.torch
	state = torch.load(os.path.join(DIR, FILE), map_location="cpu", weights_only=True)
	state = {name: tensor.clone().contiguous() for name, tensor in state.items()}
	safetensors.torch.save_file(state, os.path.join(DIR, "model.safetensors"), metadata={"format": "pt"})`

// foreignBeginnings are the first bytes of other files of tensors, which may have any name, and
// what such a file is.
var foreignBeginnings = []struct{ bytes, what string }{
	{"PK\x03\x04", "a ZIP archive, as torch.save and numpy.savez write it"},
	{"\x80\x02", pickle},
	{"\x80\x03", pickle},
	{"\x80\x04", pickle},
	{"\x80\x05", pickle},
	{"\x93NUMPY", "an array of NumPy"},
}

const pickle = "a pickle of Python"

// explainBeginning returns what a file is if its first bytes say so, and else err, which is about
// the length of its header.
func explainBeginning(first []byte, err error) error {
	for _, f := range foreignBeginnings {
		if bytes.HasPrefix(first, []byte(f.bytes)) {
			return fmt.Errorf("this is %s, not safetensors: save the tensors with save_file of "+
				"the Python package safetensors", f.what)
		}
	}
	return err
}

// foreignTokenizers are the files of tokenizers in other formats than tokenizer.json.
var foreignTokenizers = []foreign{
	{"vocab.txt", saveTokenizer},
	{"merges.txt", saveTokenizer},
	{"tokenizer.model", saveTokenizer},
	{"spiece.model", saveTokenizer},
	{"sentencepiece.bpe.model", saveTokenizer},
	{"vocab.json", saveTokenizer},
}

const saveTokenizer = `
	from transformers import AutoTokenizer
	AutoTokenizer.from_pretrained(DIR, use_fast=True).save_pretrained(DIR)`

// explainMissing adds to the error about a missing file what the directory has instead.
func (d *Dir) explainMissing(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, readErr := fs.ReadDir(d.fsys, ".")
	if readErr != nil || len(entries) == 0 {
		return fmt.Errorf("%w; it is empty", err)
	}
	known := foreignWeights
	if !d.exists(configFile) { // the others cannot be converted without it
		known = []foreign{{"*.gguf", ""}}
	}
	files, python := d.conversion(entries, known)
	switch {
	case files == nil || d.exists(weightsFile):
	case python == "" && len(files) > 1:
		return fmt.Errorf("%w; found %s: name one of these files instead of the directory", err,
			message.Some(files, 8))
	case python == "":
		return fmt.Errorf("%w; found %s: name that file instead of the directory", err, files[0])
	default:
		return fmt.Errorf("%w; found %s: convert it once in Python:%s", err, files[0], python)
	}
	return fmt.Errorf("%w; found %s", err, listed(entries))
}

// explainTokenizer adds to the error about a missing tokenizer.json what the directory has instead.
func (d *Dir) explainTokenizer(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, readErr := fs.ReadDir(d.fsys, ".")
	if readErr != nil {
		return err
	}
	if files, python := d.conversion(entries, foreignTokenizers); files != nil {
		return fmt.Errorf("%w; found %s: convert it once in Python:%s", err, files[0], python)
	}
	return err
}

// conversion returns the foreign files among the entries that the first pattern with any has, and
// the Python code that converts the first. Both are empty if there is no such file.
func (d *Dir) conversion(entries []fs.DirEntry, known []foreign) (files []string, python string) {
	for _, f := range known {
		for _, e := range entries {
			if f.matches(e.Name()) {
				files = append(files, e.Name())
			}
		}
		if files != nil {
			return files, d.fillIn(f.python, files[0])
		}
	}
	return nil, ""
}

// matches reports whether a file has this format, by its name.
func (f foreign) matches(name string) bool {
	ok, _ := path.Match(f.file, name)
	return ok && !bookkeeping.MatchString(name)
}

// safetensorsWeights are patterns of the names that files of weights have in safetensors.
var safetensorsWeights = []foreign{
	{file: "model*.safetensors"}, {file: indexFile}, {file: "consolidated*.safetensors"},
	{file: "pytorch_model*.safetensors"},
}

// isWeights reports whether a file has weights in any format, by its name.
func isWeights(name string) bool {
	known := slices.Concat(safetensorsWeights, foreignWeights)
	return slices.ContainsFunc(known, func(f foreign) bool { return f.matches(name) })
}

var placeholder = regexp.MustCompile(`\b(DIR|FILE|MODEL)\b`)

// fillIn puts the directory, the file and the class into Python code. Python understands the
// quoting of Go.
func (d *Dir) fillIn(python, file string) string {
	values := map[string]string{
		"DIR":  strconv.QuoteToASCII(d.Name),
		"FILE": strconv.QuoteToASCII(file), "MODEL": d.class(),
	}
	return placeholder.ReplaceAllStringFunc(python, func(key string) string { return values[key] })
}

var className = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,99}$`)

// class returns the class of the model in the Python library: the first one that config.json names.
// With AutoModel instead, the conversion might lose the head.
func (d *Dir) class() string {
	list, _ := d.Config["architectures"].([]any)
	if len(list) > 0 {
		if name, ok := list[0].(string); ok && className.MatchString(name) {
			return name
		}
	}
	return "AutoModelForCausalLM"
}

// listed names a few entries of a directory. They are sorted, because fs.ReadDir sorts.
func listed(entries []fs.DirEntry) string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return message.Some(names, 8)
}
