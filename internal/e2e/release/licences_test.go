package release

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

var update = flag.Bool("update", false, "write the table of THIRD-PARTY.md")

// Lines around the table of THIRD-PARTY.md.
const (
	tableBegin = "<!-- table: written by TestLicences with -update -->\n"
	tableEnd   = "<!-- end of table -->\n"
)

// licences are the licences that what the program links may have, by a sentence of their texts.
// A text can contain the sentence of a later one as well: the first that is found counts.
var licences = []struct{ name, sentence string }{
	{"OFL-1.1", "SIL OPEN FONT LICENSE Version 1.1"},
	{"Apache-2.0", "Apache License Version 2.0, January 2004"},
	{"BSD-3-Clause", "Neither the name of"},
	{"BSD-3-Clause", "may not be used to endorse or promote products derived"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any"},
	{"CC-BY-4.0", "Creative Commons Attribution 4.0 International Public License"},
	{"FTL or GPL-2.0", "The FreeType License"},
}

// TestLicences finds out which modules the program links on any system, and that each has a licence
// of the list above. It compares them with the table in THIRD-PARTY.md.
func TestLicences(t *testing.T) {
	modules := map[string]bool{} // lines of go list
	for _, system := range []string{"linux", "darwin", "windows"} {
		env := append(os.Environ(), "GOARCH=amd64", "CGO_ENABLED=1", "GOOS="+system)
		list := run(t, checkout, env, "go", "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\n{{end}}{{end}}",
			"./cmd/headwater")
		for line := range strings.Lines(list) {
			if line = strings.TrimSpace(line); line != "" {
				modules[line] = true
			}
		}
	}
	if len(modules) < 20 {
		t.Fatalf("the program links %d modules; they were not read", len(modules))
	}
	var rows []string
	for line := range modules {
		path, rest, _ := strings.Cut(line, "\t")
		version, dir, _ := strings.Cut(rest, "\t")
		names := found(t, dir)
		if len(names) == 0 {
			t.Errorf("%s %s has no licence that is known here: read %s", path, version, dir)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", path, version,
			strings.Join(names, ", ")))
	}
	slices.Sort(rows)
	table := "| module | version | licence |\n|---|---|---|\n" + strings.Join(rows, "")
	file := filepath.Join(checkout, "THIRD-PARTY.md")
	text, err := os.ReadFile(file)
	must(t, err)
	before, rest, ok := strings.Cut(string(text), tableBegin)
	have, after, closed := strings.Cut(rest, tableEnd)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", file)
	}
	if have == table {
		return
	}
	if !*update {
		t.Errorf("the table of %s is not what the program links; run: "+
			"go test ./internal/e2e/release -run Licences -update", file)
		return
	}
	text = []byte(before + tableBegin + table + tableEnd + after)
	must(t, os.WriteFile(file, text, 0o644))
}

// found returns the licences in the files of a module's folder, in the order of their names.
func found(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		if !e.Type().IsRegular() || !strings.HasPrefix(name, "licen") &&
			!strings.HasPrefix(name, "copying") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		words := strings.Join(strings.Fields(string(text)), " ")
		for _, l := range licences {
			if strings.Contains(words, l.sentence) {
				names = append(names, l.name)
				break
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
