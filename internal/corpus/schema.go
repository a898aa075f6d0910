package corpus

import (
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// The columns of a shard that do not depend on the methods, in this order. n is the number of
// generated tokens of a record, m that of its prompt tokens. A list is empty in a row with an
// error.
const (
	// ColumnID is the id of the record, "" if it has none. ColumnFile is the input file, relative
	// to the input, and ColumnRecord the line or row in it, from 1: together they name the record.
	ColumnID     = "id"
	ColumnFile   = "file"
	ColumnRecord = "record"
	// ColumnError is why there are no scores; null if there are.
	ColumnError = "error"
	// ColumnText is the prompt as the model saw it. Begin and end are byte offsets in it.
	ColumnText        = "text"
	ColumnPromptIDs   = "prompt_ids"   // [m]
	ColumnPromptTexts = "prompt_texts" // [m]
	ColumnPromptBegin = "prompt_begin" // [m]
	ColumnPromptEnd   = "prompt_end"   // [m], not included
	ColumnIDs         = "ids"          // [n], the first of those that are explained together
	ColumnTexts       = "texts"        // [n]
	ColumnProbability = "probability"  // [n], of the model, in [0,1]
	// The scores of the generated tokens, [n], in nats and from 1; 0 where there are none, and so
	// is the rank. Those of what --without changes are empty without it.
	ColumnEntropy   = "entropy"
	ColumnSurprisal = "surprisal"
	ColumnRank      = "rank"
	ColumnKL        = "kl"
	ColumnGain      = "gain"
	// The scores of the prompt's tokens, [m], of which the first has none; empty if they are not
	// asked for.
	ColumnPromptEntropy   = "prompt_entropy"
	ColumnPromptSurprisal = "prompt_surprisal"
	ColumnPromptRank      = "prompt_rank"
	ColumnWarnings        = "warnings"
)

// The columns of a method are these words with "_" and [ColumnOf] the method behind them, such as
// scores_value_zeroing. l is the number of levels of the method, which is 1 for a method that
// computes one layer only.
const (
	// MethodScores is [n,m], row-major: how much of a generated token comes from each prompt token,
	// at the layer that MethodShown says.
	MethodScores = "scores"
	// MethodGenerated is [n]: the sum of the values of the generated tokens at the layer shown.
	MethodGenerated = "generated"
	// MethodShown is [n], the layer of the scores, 0-based; -1 where tokens that are explained
	// together have several.
	MethodShown = "shown"
	// MethodLayers is [l], the layers of totals and firsts, 0-based; -1 alone where each token has
	// a layer of its own, which is in shown.
	MethodLayers = "layers"
	// MethodTotals is [n,l]: the sum over prompt tokens after each layer. MethodFirsts is [n,l]:
	// the value of the first prompt token, where attention often has its sink.
	MethodTotals = "totals"
	MethodFirsts = "firsts"
)

// methodColumns are the columns of each method in their order.
var methodColumns = []string{
	MethodScores, MethodGenerated, MethodShown, MethodLayers, MethodTotals, MethodFirsts,
}

// ColumnOf returns the name of a method as it is part of the name of a column: value-zeroing
// becomes value_zeroing, which SQL reads without quotes.
func ColumnOf(method string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, method)
}

// listColumns are the columns of [Result.lists] before those of methods.
var listColumns = []string{
	ColumnPromptIDs, ColumnPromptTexts, ColumnPromptBegin, ColumnPromptEnd, ColumnIDs, ColumnTexts,
	ColumnProbability, ColumnEntropy, ColumnSurprisal, ColumnRank, ColumnKL, ColumnGain,
	ColumnPromptEntropy, ColumnPromptSurprisal, ColumnPromptRank, ColumnWarnings,
}

// schemaOf returns the schema of a shard.
func schemaOf(methods []string) *parquet.Schema {
	root := orderedGroup{Group: parquet.Group{}}
	add := func(name string, node parquet.Node) {
		root.Group[name] = node
		root.order = append(root.order, name)
	}
	// Of texts that few rows differ in.
	few := parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	add(ColumnID, parquet.String())
	add(ColumnFile, few)
	add(ColumnRecord, parquet.Leaf(parquet.Int64Type))
	add(ColumnError, parquet.Optional(parquet.String()))
	add(ColumnText, parquet.String())
	names := slices.Clone(listColumns)
	for _, method := range methods {
		for _, what := range methodColumns {
			names = append(names, what+"_"+ColumnOf(method))
		}
	}
	for i, list := range (&Result{Methods: make([]Scores, len(methods))}).lists() {
		node := few
		switch list.(type) {
		case *[]int32:
			node = parquet.Leaf(parquet.Int32Type)
		case *[]float32:
			node = parquet.Leaf(parquet.FloatType)
		case *[]float64:
			node = parquet.Leaf(parquet.DoubleType)
		}
		add(names[i], parquet.List(node))
	}
	return parquet.NewSchema("corpus", root)
}

// orderedGroup is a group whose columns keep their order; those of [parquet.Group] are sorted.
type orderedGroup struct {
	parquet.Group
	order []string
}

// Fields returns the columns in their order.
func (g orderedGroup) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(g.order, a.Name()) - slices.Index(g.order, b.Name())
	})
	return fields
}
