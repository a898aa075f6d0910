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
	ColumnWarnings    = "warnings"
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

// kind is the type of a column.
type kind int

const (
	textColumn     kind = iota // a string
	optionalText               // a string or null
	numberColumn               // a whole number, 64 bits
	textList                   // a list of strings
	numberList                 // a list of whole numbers, 32 bits
	floatList                  // a list of numbers, 32 bits
	doubleList                 // a list of numbers, 64 bits
	repeatedTextID             // a string that few rows differ in
)

// column is one column of a shard.
type column struct {
	name string
	kind kind
}

// columnsOf returns the columns of a shard in their order.
func columnsOf(methods []string) []column {
	all := []column{
		{ColumnID, textColumn},
		{ColumnFile, repeatedTextID},
		{ColumnRecord, numberColumn},
		{ColumnError, optionalText},
		{ColumnText, textColumn},
		{ColumnPromptIDs, numberList},
		{ColumnPromptTexts, textList},
		{ColumnPromptBegin, numberList},
		{ColumnPromptEnd, numberList},
		{ColumnIDs, numberList},
		{ColumnTexts, textList},
		{ColumnProbability, doubleList},
		{ColumnWarnings, textList},
	}
	for _, method := range methods {
		for _, what := range methodColumns {
			k := floatList
			if what == MethodShown || what == MethodLayers {
				k = numberList
			}
			all = append(all, column{what + "_" + ColumnOf(method), k})
		}
	}
	return all
}

// node returns the type of the column in Parquet.
func (c column) node() parquet.Node {
	switch c.kind {
	case optionalText:
		return parquet.Optional(parquet.String())
	case numberColumn:
		return parquet.Leaf(parquet.Int64Type)
	case textList:
		return parquet.List(parquet.Encoded(parquet.String(), &parquet.RLEDictionary))
	case numberList:
		return parquet.List(parquet.Leaf(parquet.Int32Type))
	case floatList:
		return parquet.List(parquet.Leaf(parquet.FloatType))
	case doubleList:
		return parquet.List(parquet.Leaf(parquet.DoubleType))
	case repeatedTextID:
		return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	}
	return parquet.String()
}

// schemaOf returns the schema of a shard.
func schemaOf(methods []string) *parquet.Schema {
	root := orderedGroup{Group: parquet.Group{}}
	for _, c := range columnsOf(methods) {
		root.Group[c.name] = c.node()
		root.order = append(root.order, c.name)
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
