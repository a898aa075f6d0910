package export

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/parquet-go/parquet-go"

	"github.com/headwater-ml/headwater/attribution"
)

// row is one number of an explanation: M[t,j,k] of a method. The names are those of the columns of
// CSV and Parquet.
type row struct {
	Method string `parquet:"method,dict"`
	// Layer is the layer, 0-based; nil where the numbers are of the whole model.
	Layer *int32 `parquet:"layer,optional"`
	// Shown reports whether a picture of this target shows this layer.
	Shown      bool    `parquet:"shown"`
	Target     int32   `parquet:"target"`
	TargetID   int32   `parquet:"target_id"`
	TargetText string  `parquet:"target_text,dict"`
	Source     int32   `parquet:"source"`
	SourceID   int32   `parquet:"source_id"`
	SourceText string  `parquet:"source_text,dict"`
	Value      float64 `parquet:"value"`
	Unit       string  `parquet:"unit,dict"`
}

// rows returns all numbers of an explanation: by method, target, layer and source. Sources after
// the prompt are generated tokens; only the layer shown has rows of them.
func rows(e *attribution.Explanation) []row {
	var all []row
	m := len(e.Prompt.Texts)
	for _, name := range e.Order {
		r := e.Methods[name]
		for t, step := range e.Steps {
			for k := range r.Shape[2] {
				layer := layerOf(r, t, k)
				one := row{
					Method: name, Layer: layer, Shown: k == r.Level(t),
					Target: small(t), TargetID: small(step.ID), TargetText: step.Text,
					Unit: r.Unit,
				}
				for j, x := range r.Row(t, k) {
					one.Source, one.Value = small(j), x
					switch {
					case j < m:
						one.SourceID, one.SourceText = small(e.Prompt.IDs[j]), e.Prompt.Texts[j]
					case !one.Shown:
						continue
					default:
						one.SourceID, one.SourceText = small(e.Steps[j-m].ID), e.Steps[j-m].Text
					}
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// small returns a position, an id or a layer, which are far below the end of int32.
func small(x int) int32 { return int32(x) } //nolint:gosec // see above

// layerOf returns the layer of level k for token t, nil for a scorer without levels.
func layerOf(r *attribution.Result, t, k int) *int32 {
	if r.Scorer && len(r.Layers) == 1 {
		return nil
	}
	layer := small(r.Layer(t, k))
	return &layer
}

// csvHead begins every CSV file.
const csvHead = "method,layer,shown,target,target_id,target_text,source,source_id,source_text," +
	"value,unit\n"

// writeCSV writes a row for each number. A text that a spreadsheet would compute gets a quotation
// mark in front: a token may be a formula that asks the network.
func writeCSV(w io.Writer, e *attribution.Explanation) error {
	if _, err := io.WriteString(w, csvHead); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	for _, r := range rows(e) {
		layer := ""
		if r.Layer != nil {
			layer = strconv.Itoa(int(*r.Layer))
		}
		err := out.Write([]string{
			inert(r.Method), layer, strconv.FormatBool(r.Shown), strconv.Itoa(int(r.Target)),
			strconv.Itoa(int(r.TargetID)), inert(r.TargetText), strconv.Itoa(int(r.Source)),
			strconv.Itoa(int(r.SourceID)), inert(r.SourceText),
			strconv.FormatFloat(r.Value, 'g', -1, 64), inert(r.Unit),
		})
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// inert returns a text that no spreadsheet takes for a formula. Some of them look behind spaces and
// characters that cannot be seen.
func inert(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "␀")
	seen := strings.TrimLeftFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	if strings.IndexAny(seen, "=+-@|%") == 0 {
		return "'" + text
	}
	return text
}

// writeParquet writes the same rows, with the texts as they are and the origin in the footer.
func writeParquet(w io.Writer, e *attribution.Explanation, made string) error {
	out := parquet.NewGenericWriter[row](w, parquet.CreatedBy("headwater", "", ""),
		parquet.KeyValueMetadata(madeKey, made), parquet.Compression(&parquet.Zstd))
	all := rows(e)
	for i := range all {
		all[i].TargetText = strings.ToValidUTF8(all[i].TargetText, "\ufffd")
		all[i].SourceText = strings.ToValidUTF8(all[i].SourceText, "\ufffd")
	}
	if _, err := out.Write(all); err != nil {
		return err
	}
	return out.Close()
}

// writeJSON writes the explanation as the command does, with its origin under the key headwater.
func writeJSON(w io.Writer, e *attribution.Explanation, made string) error {
	return writeLine(w, struct {
		*attribution.Explanation
		Made json.RawMessage `json:"headwater"`
	}{e, json.RawMessage(made)})
}
