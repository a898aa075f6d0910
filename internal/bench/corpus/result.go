//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// result is what was measured of one part, as its file has it.
type result struct {
	Model   string `json:"model"`
	Backend string `json:"backend"`
	Methods string `json:"methods"`
	// Texts is how many the corpus has, and Tokens the most that follow each of them.
	Texts  int    `json:"texts"`
	Tokens int    `json:"tokens"`
	Shards int    `json:"shards"`
	Part   string `json:"part"`

	// Measured is how many texts took Seconds, and Generated their tokens.
	Measured  int     `json:"measured"`
	Generated int     `json:"generated"`
	Seconds   float64 `json:"seconds"`
	// PeakMB is the most memory, MemoryMB that after each tenth of the time, and GrowthMB by how
	// much it would grow over the whole time at the rate after the first quarter. Plain generation
	// has none of them.
	PeakMB   float64   `json:"peak_mb,omitempty"`
	MemoryMB []float64 `json:"memory_mb,omitempty"`
	GrowthMB float64   `json:"growth_mb,omitempty"`
}

// fileName is the name of the result's file, which another setting does not have.
func (r *result) fileName() string {
	name := fmt.Sprintf("%s-%s-%s-%d-texts-%d-tokens-%d-shards-%s.json", filepath.Base(r.Model),
		r.Backend, r.Methods, r.Texts, r.Tokens, r.Shards, r.Part)
	return strings.ReplaceAll(name, ",", "+")
}

// what returns what was measured.
func (r *result) what() string {
	switch r.Part {
	case plainPart:
		return "plain generation"
	case "1":
		return "1 worker"
	}
	return r.Part + " workers"
}

// rate is how many tokens were generated a second.
func (r *result) rate() float64 { return float64(r.Generated) / r.Seconds }

// write writes the file of the result at once, so that none is half there.
func (r *result) write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// readResults reads all results of a folder: by model, number of texts and part, plain first.
func readResults(folder string) ([]*result, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, errors.New(folder + " has no results")
	}
	var all []*result
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r := new(result)
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b *result) int {
		return strings.Compare(a.order(), b.order())
	})
	return all, nil
}

// order is a text by which results are sorted: settings first, then the part.
func (r *result) order() string {
	workers, _ := strconv.Atoi(r.Part) // 0 for plain generation
	return fmt.Sprintf("%s %05d", r.settings(), workers)
}

// settings is what the parts of one table have in common.
func (r *result) settings() string {
	return fmt.Sprintf("%s %s %s %09d %d %d", r.Model, r.Backend, r.Methods, r.Texts, r.Tokens,
		r.Shards)
}

// printTable prints the results of a folder, a table for all that have the same settings.
func printTable(w io.Writer, folder string) error {
	all, err := readResults(folder)
	if err != nil {
		return err
	}
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].settings() == all[i].settings() {
			j++
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		printParts(w, all[i:j])
		i = j
	}
	return nil
}

// printParts prints the parts of one setting.
func printParts(w io.Writer, parts []*result) {
	r := parts[0]
	fmt.Fprintf(w, "%s on %s: %d texts, up to %d tokens after each, methods %s, %d shards:\n\n",
		r.Model, r.Backend, r.Texts, r.Tokens, r.Methods, r.Shards)
	fmt.Fprintln(w, "| | seconds | texts/s | tokens/s | of plain generation | "+
		"memory at most, MB | growth, MB |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	plain := 0.0
	for _, r := range parts {
		fmt.Fprintf(w, "| %s | %.1f | %.1f | %.0f |", r.what(), r.Seconds,
			float64(r.Measured)/r.Seconds, r.rate())
		switch {
		case r.Part == plainPart:
			plain = r.rate()
			fmt.Fprintln(w, " 1 | | |")
			continue
		case plain > 0:
			fmt.Fprintf(w, " %.2f |", r.rate()/plain)
		default:
			fmt.Fprint(w, " not measured |")
		}
		fmt.Fprintf(w, " %.0f | %+.1f |\n", r.PeakMB, r.GrowthMB)
	}
	fmt.Fprintln(w, "\nMemory in MB after each tenth of the time:")
	fmt.Fprintln(w)
	for _, r := range parts {
		if len(r.MemoryMB) > 0 {
			text := fmt.Sprintf("%.0f", r.MemoryMB)
			fmt.Fprintf(w, "- %s: %s\n", r.what(), strings.Trim(text, "[]"))
		}
	}
}

// tenths returns the memory after each tenth of the time, nothing of a time that is too short.
func tenths(memory []float64) []float64 {
	if len(memory) == 0 {
		return nil
	}
	all := make([]float64, 10)
	for i := range all {
		all[i] = memory[(len(memory)-1)*(i+1)/10]
	}
	return all
}

// growth returns how many MB the memory would grow over the whole time at the rate after the first
// quarter: the median over the pairs of points (Theil and Sen), which one peak does not move.
func growth(memory []float64) float64 {
	rest := memory[len(memory)/4:]
	step := max(1, len(rest)/200) // pairs of at most 200 points
	var slopes []float64
	for i := 0; i < len(rest); i += step {
		for j := i + step; j < len(rest); j += step {
			slopes = append(slopes, (rest[j]-rest[i])/float64(j-i))
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2] * float64(len(memory))
}
