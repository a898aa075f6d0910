package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/headwater-ml/headwater/internal/export/figure"
)

// MaxFile is the largest file that [Read] accepts, in bytes.
const MaxFile = 256 << 20

// madeKey is the key under which JSON, Parquet and HTML hold their origin.
const madeKey = "headwater"

const (
	metaBegin = `<meta name="headwater" content="`
	metaEnd   = `">`
)

// Read returns the origin of a file of any format, by its content. The file may come from anybody:
// it is never executed, and nothing that it names is opened.
func Read(file []byte) (*Made, error) {
	if len(file) > MaxFile {
		return nil, fmt.Errorf("it has %d bytes; at most %d are read", len(file), MaxFile)
	}
	text, err := find(file)
	if err != nil {
		return nil, err
	}
	if len(text) > figure.MaxAbout {
		return nil, fmt.Errorf("what it says of its origin has %d bytes; at most %d are read",
			len(text), figure.MaxAbout)
	}
	return ParseMade(text)
}

var errNoOrigin = errors.New("it is not a file that Headwater saved, or its origin was removed: " +
	"files of explain -o and show -o have one, but for .txt and .csv; JSON on standard output " +
	"and files of other commands have none")

var errNoJSON = errors.New("it is no valid JSON: it is not a file that Headwater saved, or it " +
	"was cut short")

// find returns the JSON of the origin of a file.
func find(file []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(file, []byte("PAR1")):
		return findParquet(file)
	case bytes.HasPrefix(file, []byte("<!DOCTYPE html>")):
		_, rest, ok := strings.Cut(string(file), metaBegin)
		inner, _, closed := strings.Cut(rest, metaEnd)
		if !ok || !closed {
			return nil, errNoOrigin
		}
		return []byte(html.UnescapeString(inner)), nil
	case bytes.HasPrefix(bytes.TrimLeft(file, " \t\r\n"), []byte("{")):
		return findJSON(file)
	case bytes.HasPrefix(file, []byte(csvHead)):
		return nil, errors.New("a CSV file has no place for how it was made; save .parquet or " +
			".json beside it")
	}
	about, _, err := figure.About(file)
	if err != nil && strings.HasPrefix(err.Error(), "it is no SVG") {
		return nil, errors.New("it is no file that Headwater saves; it saves " + endings())
	}
	return []byte(about), err
}

// endings lists how the files are called.
func endings() string {
	var ends []string
	for _, f := range Formats() {
		ends = append(ends, "."+string(f))
	}
	return strings.Join(ends, ", ")
}

// findJSON finds the origin in each of the three forms of JSON.
func findJSON(file []byte) ([]byte, error) {
	var top struct {
		Made     json.RawMessage `json:"headwater"`
		Metadata struct {
			Made json.RawMessage `json:"headwater"`
		} `json:"metadata"`
		Attributes struct {
			Info struct {
				Made json.RawMessage `json:"headwater"`
			} `json:"info"`
		} `json:"attributes"`
	}
	if err := json.Unmarshal(file, &top); err != nil {
		return nil, errNoJSON
	}
	for _, found := range []json.RawMessage{top.Made, top.Metadata.Made, top.Attributes.Info.Made} {
		if found != nil {
			return found, nil
		}
	}
	return nil, errNoOrigin
}

// findParquet reads the footer of a Parquet file. The reader may panic on a damaged one.
func findParquet(file []byte) (text []byte, err error) {
	defer func() {
		if recover() != nil {
			text, err = nil, errors.New("it is a damaged Parquet file")
		}
	}()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)), parquet.SkipPageIndex(true),
		parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, errors.New("it is a damaged Parquet file")
	}
	found, ok := f.Lookup(madeKey)
	if !ok {
		return nil, errNoOrigin
	}
	return []byte(found), nil
}
