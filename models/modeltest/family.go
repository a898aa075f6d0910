package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/modelgolden"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

// Family checks on a golden that f, which must be registered, keeps the contract of a family. It
// is found by each of its architectures. Every key is read, refused or remarked, and
// config.v4.json, if it exists, means the same. Every parameter has a tensor, and a tensor that is
// missing, has another shape or is unknown causes an error with its name. The model computes what
// the reference implementation computes, at every tap, padded, and with the cache.
func Family(t *testing.T, f *family.Family, dir string) {
	t.Helper()
	d, err := checkpoint.OpenDir(dir)
	must(t, err)
	defer d.Close()
	read, arch, err := family.Read(family.NewConfig(dir, d.Config))
	must(t, err)
	if read != f {
		t.Fatalf("%s is read by family %s, not by %s", dir, read.Name, f.Name)
	}
	c := familyContract{family: f, dir: dir, checkpoint: d, arch: arch}
	t.Run("names", c.names)
	t.Run("keys", c.keys)
	t.Run("version 4", c.version4)
	t.Run("tensors", c.tensors)
	g := modelgolden.Open(t, dir)
	t.Run("parity", g.Parity)
	if !arch.Bidirectional && arch.Head == spec.LanguageHead {
		t.Run("greedy", g.Greedy)
	}
}

type familyContract struct {
	family     *family.Family
	dir        string
	checkpoint *checkpoint.Dir
	arch       *spec.Spec
}

func (c familyContract) names(t *testing.T) {
	if c.family.Name == "" || !slices.Contains(family.Names(), c.family.Name) {
		t.Errorf("the family's name %q is not among %v", c.family.Name, family.Names())
	}
	if len(c.family.Architectures) == 0 {
		t.Error("the family has no architectures")
	}
	for _, a := range c.family.Architectures {
		found, err := family.Lookup(family.NewConfig(c.dir,
			map[string]any{"architectures": []any{a}}))
		if err != nil || found != c.family {
			t.Errorf("architecture %s is not found as %s: %v", a, c.family.Name, err)
		}
	}
	if c.arch.Family == "" {
		t.Error("the spec does not say its family")
	}
}

// keys adds an unknown key and one that the reference reads for every model, then replaces each
// number by a text.
func (c familyContract) keys(t *testing.T) {
	const unknown, read = "arithmetic_of_tomorrow", "is_causal"
	values := maps.Clone(c.checkpoint.Config)
	values[unknown] = true
	_, s, err := family.Read(family.NewConfig(c.dir, values))
	if err == nil && !strings.Contains(strings.Join(s.Remarks, "\n"), unknown) {
		t.Error("an unknown key is neither refused nor remarked")
	}
	if err != nil && !strings.Contains(err.Error(), unknown) {
		t.Errorf("an unknown key is not refused by name: error %v", err)
	}
	delete(values, unknown)
	values[read] = false
	if _, _, err := family.Read(family.NewConfig(c.dir, values)); err == nil ||
		!strings.Contains(err.Error(), read) {
		t.Errorf("a key that the reference reads is not refused by name: error %v", err)
	}
	delete(values, read)
	for key, value := range c.checkpoint.Config {
		if _, is := value.(json.Number); !is {
			continue
		}
		values[key] = "text"
		if _, _, err := family.Read(family.NewConfig(c.dir, values)); err != nil &&
			!strings.Contains(err.Error(), key) {
			t.Errorf("a text for %s: error %v does not name the key", key, err)
		}
		values[key] = value
	}
}

// version4 reads the configuration in the spelling of transformers 4.
func (c familyContract) version4(t *testing.T) {
	data, err := os.ReadFile(c.dir + "/config.v4.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no config.v4.json")
	}
	must(t, err)
	values := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	must(t, decoder.Decode(&values))
	_, arch, err := family.Read(family.NewConfig("config.v4.json", values))
	must(t, err)
	arch.Remarks = c.arch.Remarks
	if !reflect.DeepEqual(arch, c.arch) {
		t.Errorf("config.v4.json is read as %+v, config.json as %+v", *arch, *c.arch)
	}
}

// tensors changes the checkpoint's tensors one at a time.
func (c familyContract) tensors(t *testing.T) {
	if _, err := c.family.Loader(c.dir, c.checkpoint.Weights, c.arch); err != nil {
		t.Fatal(err)
	}
	for _, name := range c.checkpoint.Weights.Names() {
		without := edited{Tensors: c.checkpoint.Weights, missing: name}
		_, missing := c.family.Loader(c.dir, without, c.arch)
		_, longer := c.family.Loader(c.dir, edited{Tensors: c.checkpoint.Weights, longer: name},
			c.arch)
		if missing != nil && longer == nil {
			t.Errorf("tensor %s: its absence gives error %v, another shape none", name, missing)
		}
		if missing != nil && !strings.Contains(missing.Error(), lastPart(name)) || longer != nil &&
			!strings.Contains(longer.Error(), name) {
			t.Errorf("tensor %s: errors %v and %v do not name it", name, missing, longer)
		}
		buffer := slices.ContainsFunc(c.family.Buffers,
			func(end string) bool { return strings.HasSuffix(name, end) })
		if missing == nil && longer == nil && c.inLayer(name) && !buffer {
			t.Errorf("tensor %s of a layer is read by nobody", name)
		}
	}
}

// inLayer returns whether a tensor belongs to a layer, by the number in its name.
func (c familyContract) inLayer(name string) bool {
	for l := range c.arch.Layers {
		if strings.Contains(name, fmt.Sprintf(".%d.", l)) {
			return !strings.Contains(name, "vision") && !strings.Contains(name, "visual") // images
		}
	}
	return false
}

// lastPart returns the end of a tensor name, without what may come before it.
func lastPart(name string) string {
	parts := strings.Split(name, ".")
	return strings.Join(parts[max(0, len(parts)-2):], ".")
}

// edited has the tensors of a checkpoint, but one of them is missing or longer than it should be.
type edited struct {
	family.Tensors
	missing, longer string
}

// Names returns the names without the missing one.
func (e edited) Names() []string {
	return slices.DeleteFunc(slices.Clone(e.Tensors.Names()),
		func(name string) bool { return name == e.missing })
}

// Shape returns the shape, with one more row for the longer tensor.
func (e edited) Shape(name string) ([]int, error) {
	shape, err := e.Tensors.Shape(name)
	if err == nil && name == e.longer && len(shape) > 0 {
		shape = slices.Clone(shape)
		shape[0]++
	}
	return shape, err
}
