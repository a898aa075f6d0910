package gguf

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
)

// splitName is the name of a part of a split file.
var splitName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// maxSplit is how many parts a split file may have.
const maxSplit = 1 << 10

// splitting is what a part says about the split: its number from 0, how many parts there are, and
// how many tensors they have together. A file that is not split has zeros.
type splitting struct{ number, count, tensors int }

// split reads what the first part says about the split.
func (f *File) split() (splitting, error) { return f.parts[0].split() }

func (p *part) split() (splitting, error) {
	var s splitting
	for _, key := range []struct {
		name string
		to   *int
		most int64
	}{
		{"split.no", &s.number, maxSplit - 1},
		{"split.count", &s.count, maxSplit},
		{"split.tensors.count", &s.tensors, maxTensors},
	} {
		v, ok := p.metadata[key.name]
		if !ok {
			continue
		}
		n, ok := v.Int()
		if !ok || n < 0 || n > key.most {
			return s, pkg.Errorf("%s: %s is %v; it must be a whole number from 0 to %d",
				p.raw.Name(), key.name, v, key.most)
		}
		*key.to = int(n)
	}
	return s, nil
}

// openSplit opens the other parts of a split file and adds their tensors.
func (f *File) openSplit() error {
	s, err := f.split()
	if err != nil || s.count <= 1 {
		return err
	}
	dir, base := filepath.Split(f.name)
	name := splitName.FindStringSubmatch(base)
	want := fmt.Sprintf("-%05d-of-%05d.gguf", s.number+1, s.count)
	if name == nil || "-"+name[2]+"-of-"+name[3]+".gguf" != want {
		return f.fail("it is part %d of %d, so its name must end in %s", s.number+1, s.count, want)
	}
	if s.number != 0 {
		return f.fail("it is part %d of %d: open the first part, %s", s.number+1, s.count,
			partName(name[1], 0, s.count))
	}
	f.tensors = map[string]tensor{}
	if err := f.addTensors(f.parts[0]); err != nil {
		return err
	}
	for i := 1; i < s.count; i++ {
		p, err := openPart(dir + partName(name[1], i, s.count))
		if err != nil {
			return fmt.Errorf("part %d of %d: %w", i+1, s.count, err)
		}
		f.parts = append(f.parts, p)
		if err := f.addPart(p, i, s.count); err != nil {
			return err
		}
	}
	if s.tensors != 0 && len(f.tensors) != s.tensors {
		return f.fail("its parts have %d tensors together, but split.tensors.count is %d",
			len(f.tensors), s.tensors)
	}
	return nil
}

// partName returns the name of part i, from 0.
func partName(stem string, i, count int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", stem, i+1, count)
}

// addPart checks that p is part i of the split, and adds its tensors.
func (f *File) addPart(p *part, i, count int) error {
	s, err := p.split()
	if err != nil {
		return err
	}
	if s.number != i || s.count != count {
		return pkg.Errorf("%s: split.no is %d and split.count is %d; they must be %d and "+
			"%d: the parts are of different files", p.raw.Name(), s.number, s.count, i, count)
	}
	return f.addTensors(p)
}

func (f *File) addTensors(p *part) error {
	for _, name := range slices.Sorted(maps.Keys(p.tensors)) {
		if first, twice := f.tensors[name]; twice {
			both := []string{first.part.raw.Name(), p.raw.Name()}
			slices.Sort(both)
			return pkg.Errorf("tensor %s is in %s and in %s", quoted(name), both[0], both[1])
		}
		f.tensors[name] = p.tensors[name]
	}
	return nil
}
