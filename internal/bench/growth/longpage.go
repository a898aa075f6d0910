package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gonum.org/v1/plot/plotter"
)

// shortLines and longLines are what was measured on short and on long prompts.
var (
	//go:embed short.jsonl
	shortLines []byte
	//go:embed long.jsonl
	longLines []byte
)

// recorded reads measurements, a line each.
func recorded(text []byte) ([]measurement, error) {
	var all []measurement
	lines := json.NewDecoder(bytes.NewReader(text))
	for {
		var m measurement
		switch err := lines.Decode(&m); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("what was measured: %w", err)
		}
		all = append(all, m)
	}
}

// longIntro begins the section of long prompts.
//
//go:embed long.md
var longIntro string

// longFigures are the tables of long prompts.
var longFigures = []figure{
	{
		"long-first", "from the prompt to the first explained token", "s",
		func(m *measurement) *float64 { return &m.First },
	},
	{
		"long-next", "one more explained token", "s",
		func(m *measurement) *float64 { return &m.Next },
	},
	{
		"long-memory", "memory of the process", "MB",
		func(m *measurement) *float64 { return &m.Memory },
	},
	{
		"long-stated", "memory stated before", "MB",
		func(m *measurement) *float64 { return &m.Stated },
	},
}

// longSection returns the section of long prompts.
func longSection(all []measurement) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, longIntro, all[0].Backend)
	for _, f := range longFigures {
		fmt.Fprintf(&b, "\n### Long prompts: %s\n\n| %s |", f.title, f.unit)
		rows(&b, longLengths, longMethods, func(method string) ([]string, string) {
			return f.longRow(all, method)
		})
	}
	return b.String()
}

// longRow returns the row of a method, with the slope from 2,048 tokens on.
func (f figure) longRow(all []measurement, method string) (cells []string, slope string) {
	var steep plotter.XYs
	for _, n := range longLengths {
		cell := missing
		for _, m := range all {
			if m.Method == method && m.Tokens == n && *f.of(&m) > 0 {
				cell = number(*f.of(&m))
			}
		}
		if y, err := strconv.ParseFloat(cell, 64); err == nil && n >= 2048 {
			steep = append(steep, plotter.XY{X: float64(n), Y: y})
		}
		cells = append(cells, cell)
	}
	// No slope is drawn through rows that are stored and rows that are computed again.
	if _, two := rowsFit[method]; two || len(steep) < 2 {
		return cells, missing
	}
	return cells, fmt.Sprintf("%.2f", exponent(steep))
}
