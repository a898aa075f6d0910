package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// recorded reads the measurements of the page in a folder, with the digits that it gives.
func recorded(dir string) ([]measurement, error) {
	page, err := os.ReadFile(filepath.Join(dir, pageName))
	if err != nil {
		return nil, err
	}
	_, backend, _ := strings.Cut(string(page), ") on ")
	backend, _, _ = strings.Cut(backend, ",")
	var all []measurement
	for _, method := range methods {
		for i, tokens := range lengths {
			m := measurement{Method: method, Tokens: tokens, Backend: backend}
			for _, f := range figures {
				cell, err := f.cell(string(page), method, i)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", pageName, err)
				}
				if cell == missing {
					break
				}
				if *f.of(&m), err = strconv.ParseFloat(cell, 64); err != nil {
					return nil, fmt.Errorf("%s: %s of %s at %d tokens: %w",
						pageName, f.name, method, tokens, err)
				}
			}
			if m.First > 0 { // it was not left out
				all = append(all, m)
			}
		}
	}
	return all, nil
}

// cell returns what the table of a figure has for a method at a length.
func (f figure) cell(page, method string, length int) (string, error) {
	_, table, _ := strings.Cut(page, "(growth-"+f.name+".svg)")
	_, row, ok := strings.Cut(table, "| `"+method+"` |")
	row, _, _ = strings.Cut(row, "\n")
	cells := strings.Split(row, "|")
	if !ok || length >= len(cells)-1 { // the last one is behind the row
		return "", fmt.Errorf("the table of %s has no %s at %d tokens",
			f.name, method, lengths[length])
	}
	return strings.TrimSpace(cells[length]), nil
}
