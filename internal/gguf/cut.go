package gguf

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// magic is what a GGUF file begins with.
const magic = "GGUF"

// joined returns an error if another GGUF file follows the data of p, as where the parts of a split
// file were joined by cat, with the commands that cut p off. Programs write the last tensor with or
// without the zeros that align it.
func (p *part) joined() error {
	alignment, err := p.alignment()
	end := p.data
	for _, t := range p.tensors {
		end = max(end, p.data+t.offset+t.size)
	}
	aligned := (end + alignment - 1) / max(1, alignment) * alignment
	switch {
	case err != nil || p.data == 0: // the header was not read
		return nil
	case p.beginsAt(end):
	case p.beginsAt(aligned):
		end = aligned
	default:
		return nil
	}
	s, err := p.split()
	if err != nil {
		return err
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(p.raw.Name(), ".gguf"), "-rest")
	if m := splitName.FindStringSubmatch(p.raw.Name()); m != nil {
		stem = m[1] + "-cut" // not the file itself
	}
	first, rest := stem+"-first.gguf", stem+"-rest.gguf"
	what := "it is several GGUF files joined"
	if s.count > 1 {
		what = fmt.Sprintf("it is part %d of %d of a split file, with what comes after it",
			s.number+1, s.count)
		first = partName(stem, s.number, s.count)
		if s.number+2 == s.count {
			rest = partName(stem, s.number+1, s.count)
		}
	}
	return pkg.Errorf("%s: %s, which begins at %d: cut them apart, and open the first:\n"+
		"\thead -c %[3]d %[4]s > %[5]s; tail -c +%[6]d %[4]s > %[7]s", p.raw.Name(), what, end,
		shellQuoted(p.raw.Name()), shellQuoted(first), end+1, shellQuoted(rest))
}

// beginsAt reports whether a GGUF file begins at a byte of the file.
func (p *part) beginsAt(at int64) bool {
	r := &reader{raw: p.raw, at: at}
	b, err := r.bytes(int64(len(magic)))
	return err == nil && string(b) == magic
}

// pieceName is the name of a piece of a file that was cut by bytes, as NAME.part1of2, NAME-split-a,
// NAME.001 or NAMEaa.
var pieceName = regexp.MustCompile(`^(.*?)(\d+(?:of\d+)?|[a-z]{1,2})$`)

// maxPieces is how many pieces of a file an error names.
const maxPieces = 64

// explainPiece adds to the error of a file that was not read how the pieces of a file are joined,
// if it is one of them: there are several whose names differ at the end, and the first of them
// alone begins as a GGUF file.
func explainPiece(path string, err error) error {
	dir, base := filepath.Split(path)
	own := pieceName.FindStringSubmatch(base)
	entries, readErr := os.ReadDir(cmp.Or(dir, "."))
	if own == nil || readErr != nil {
		return err
	}
	var pieces []string
	for _, e := range entries {
		m := pieceName.FindStringSubmatch(e.Name())
		if m != nil && m[1] == own[1] && e.Type().IsRegular() {
			pieces = append(pieces, dir+e.Name())
		}
	}
	slices.SortFunc(pieces, func(a, b string) int { // 10 is after 9
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	if len(pieces) < 2 || len(pieces) > maxPieces {
		return err
	}
	for i, name := range pieces {
		if beginsAsGGUF(name) != (i == 0) {
			return err
		}
		pieces[i] = shellQuoted(name)
	}
	whole, _, _ := strings.Cut(own[1], ".gguf")
	return fmt.Errorf("%w. It is one of %d pieces of a file that was cut by bytes: join them, "+
		"and open the result:\n\tcat %s > %s", err, len(pieces), strings.Join(pieces, " "),
		shellQuoted(dir+strings.TrimRight(whole, ".-_")+".gguf"))
}

// beginsAsGGUF reports whether a file begins as GGUF files do.
func beginsAsGGUF(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(magic))
	n, _ := f.ReadAt(b, 0)
	return string(b[:n]) == magic
}

// shellQuoted returns a path as a word for a shell.
func shellQuoted(path string) string {
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
