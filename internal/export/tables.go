package export

import (
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/study/scores"
	"github.com/headwater-ml/headwater/internal/study/without"
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
	// The scores of the target and of the source, nil where there are none.
	Entropy         *float64 `parquet:"target_entropy,optional"`
	Surprisal       *float64 `parquet:"target_surprisal,optional"`
	Rank            *int32   `parquet:"target_rank,optional"`
	KL              *float64 `parquet:"target_kl,optional"`
	Gain            *float64 `parquet:"target_gain,optional"`
	SourceEntropy   *float64 `parquet:"source_entropy,optional"`
	SourceSurprisal *float64 `parquet:"source_surprisal,optional"`
	SourceRank      *int32   `parquet:"source_rank,optional"`
	// Contribution is how much of the row of the target comes from the source of a model of two
	// stacks, nil where that has no meaning and in layers that are not shown.
	Contribution *float64 `parquet:"source_contribution,optional"`
	// The bytes of texts that are not UTF-8, nil of others.
	TargetBytes []byte `parquet:"target_bytes,optional"`
	SourceBytes []byte `parquet:"source_bytes,optional"`
}

// rows returns all numbers of an explanation: by method, target, layer and source. Sources after
// the prompt are generated tokens; only the layer shown has rows of them.
func rows(e *attribution.Explanation) []row {
	var all []row
	m, source := len(e.Prompt.Texts), contributions(e)
	for _, name := range e.Order {
		r := e.Methods[name]
		for t, step := range e.Steps {
			for k := range r.Shape[2] {
				layer := layerOf(r, t, k)
				one := row{
					Method: name, Layer: layer, Shown: k == r.Level(t),
					Target: small(t), TargetID: small(step.ID), TargetText: step.Text,
					TargetBytes: exact(step.Text), Unit: r.Unit,
				}
				if one.Shown && t < len(source[name]) {
					one.Contribution = source[name][t]
				}
				if part := without.OfToken(step); part != nil {
					one.KL, one.Gain = &part.KL, &part.Gain
				}
				one.Entropy, one.Surprisal, one.Rank = numbers(step.Scores)
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
					one.SourceBytes = exact(one.SourceText)
					one.SourceEntropy, one.SourceSurprisal, one.SourceRank =
						numbers(sourceScores(e, j))
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// sourceScores returns the scores of a source, nil if it has none.
func sourceScores(e *attribution.Explanation, j int) *trace.TokenScores {
	if m := len(e.Prompt.Texts); j >= m {
		return e.Steps[j-m].Scores
	}
	if prompt := scores.Of(e); j < len(prompt) {
		return prompt[j]
	}
	return nil
}

// exact returns the bytes of a text that is not UTF-8, nil of others.
func exact(text string) []byte {
	if utf8.ValidString(text) {
		return nil
	}
	return []byte(text)
}

// numbers returns what scores have, nil of none.
func numbers(s *trace.TokenScores) (entropy, surprisal *float64, rank *int32) {
	if s == nil {
		return nil, nil, nil
	}
	return &s.Entropy, &s.Surprisal, new(small(s.Rank))
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

// csvHead begins every CSV file; the columns of scores follow.
const (
	csvHead = "method,layer,shown,target,target_id,target_text,source,source_id,source_text," +
		"value,unit"
	csvScores = ",target_entropy,target_surprisal,target_rank,target_kl,target_gain," +
		"source_entropy,source_surprisal,source_rank,source_contribution,target_bytes," +
		"source_bytes\n"
)

// writeCSV writes a row for each number. A text that a spreadsheet would compute gets a quotation
// mark in front: a token may be a formula that asks the network.
func writeCSV(w io.Writer, e *attribution.Explanation) error {
	if _, err := io.WriteString(w, csvHead+csvScores); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	for _, r := range rows(e) {
		text := func(x *float64) string {
			if x == nil {
				return ""
			}
			return strconv.FormatFloat(*x, 'g', -1, 64)
		}
		whole := func(x *int32) string {
			if x == nil {
				return ""
			}
			return strconv.Itoa(int(*x))
		}
		err := out.Write([]string{
			inert(r.Method), whole(r.Layer), strconv.FormatBool(r.Shown), whole(&r.Target),
			whole(&r.TargetID), inert(r.TargetText), whole(&r.Source), whole(&r.SourceID),
			inert(r.SourceText),
			text(&r.Value), inert(r.Unit), text(r.Entropy), text(r.Surprisal), whole(r.Rank),
			text(r.KL), text(r.Gain), text(r.SourceEntropy), text(r.SourceSurprisal),
			whole(r.SourceRank), text(r.Contribution),
			hex.EncodeToString(r.TargetBytes), hex.EncodeToString(r.SourceBytes),
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

// document is the JSON of an explanation.
type document struct {
	*attribution.Explanation
	Source map[string][]*float64 `json:"source_contribution,omitempty"`
	Words  []attribution.Word    `json:"words,omitempty"`
}

// Document returns what the JSON of an explanation is encoded from: the explanation, its words and,
// for a model of two stacks, how much of each row comes from the source.
func Document(e *attribution.Explanation) any { return documentOf(e) }

func documentOf(e *attribution.Explanation) document {
	return document{e, contributions(e), e.WordsOfText()}
}

// contributions returns, for a model of two stacks, how much of each row of a method comes from the
// source, [n], nil for rows without that number; see [attribution.Explanation.SourceContribution].
func contributions(e *attribution.Explanation) map[string][]*float64 {
	all := map[string][]*float64{}
	for _, name := range e.Order {
		for _, x := range e.SourceContribution(name) {
			var of *float64
			if !math.IsNaN(x) {
				of = &x
			}
			all[name] = append(all[name], of)
		}
	}
	return all
}

// writeJSON writes the explanation as the command does, with its origin under the key headwater.
func writeJSON(w io.Writer, e *attribution.Explanation, made string) error {
	return writeLine(w, struct {
		document
		Made json.RawMessage `json:"headwater"`
	}{documentOf(e), json.RawMessage(made)})
}
