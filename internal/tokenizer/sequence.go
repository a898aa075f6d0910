package tokenizer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// partOf is a part of a section, with its place in the file for errors.
type partOf[P any] struct {
	place
	part P
}

// sectionParser parses a section of the file: one part, or a Sequence of parts.
type sectionParser[P any] struct {
	list  string   // the key of the parts in a Sequence
	kinds []string // the types of parts, sorted
	parse func(kind string, raw json.RawMessage) ([]P, error)
}

// sectionOf is the parser of a section in which each type is one part.
func sectionOf[P any](
	list string, kinds map[string]func(json.RawMessage) (P, error),
) sectionParser[P] {
	parse := func(kind string, raw json.RawMessage) ([]P, error) {
		p, err := kinds[kind](raw)
		return []P{p}, err
	}
	return sectionParser[P]{list, names(kinds), parse}
}

// bare returns the function that parses a part without settings. Any other key is an error, because
// it would be a setting of a newer version.
func bare[P any](p P) func(json.RawMessage) (P, error) {
	return reading(func(struct {
		Type string `json:"type"`
	}) (P, error) {
		return p, nil
	})
}

// reading returns the function that parses a part with the settings F; see [decodeStrict].
func reading[F, P any](part func(F) (P, error)) func(json.RawMessage) (P, error) {
	return func(raw json.RawMessage) (p P, err error) {
		var f F
		if err := decodeStrict(raw, &f); err != nil {
			return p, err
		}
		return part(f)
	}
}

// maxNesting is how deep a Sequence may be nested in others.
const maxNesting = 8

// parts parses a section as a list. A Sequence inside a Sequence is flattened.
func (s sectionParser[P]) parts(key string, raw json.RawMessage, depth int) ([]partOf[P], error) {
	kind := kindOf(raw)
	switch {
	case isNull(raw) && depth == 0:
		return nil, nil
	case kind == "Sequence":
		return s.sequence(key, raw, depth)
	case !slices.Contains(s.kinds, kind):
		return nil, unsupportedType(key, raw, append(slices.Clone(s.kinds), "Sequence")...)
	}
	parts, err := s.parse(kind, raw)
	if err != nil {
		return nil, atKey(key, err)
	}
	var all []partOf[P]
	for _, p := range parts {
		all = append(all, partOf[P]{place{key, kind}, p})
	}
	return all, nil
}

// sequence parses a Sequence. Its depth and the number of its parts are limited, because each part
// costs a pass over the text, and the depth of a hostile file must not become that of the stack.
func (s sectionParser[P]) sequence(
	key string, raw json.RawMessage, depth int,
) (all []partOf[P], err error) {
	f := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "Type", Type: reflect.TypeFor[string](), Tag: `json:"type"`},
		{
			Name: "Parts", Type: reflect.TypeFor[[]json.RawMessage](),
			Tag: reflect.StructTag(fmt.Sprintf("json:%q", s.list)),
		},
	}))
	if err := decodeStrict(raw, f.Interface()); err != nil {
		return nil, atKey(key, err)
	}
	if depth == maxNesting {
		return nil, fmt.Errorf("%s: Sequence is nested more than %d deep", key, maxNesting)
	}
	for i, r := range f.Elem().Field(1).Interface().([]json.RawMessage) {
		p, err := s.parts(fmt.Sprintf("%s.%s[%d]", key, s.list, i), r, depth+1)
		if err != nil {
			return nil, err
		}
		if all = append(all, p...); len(all) > maxParts {
			return nil, fmt.Errorf("%s: %d parts, the limit is %d; leave some out", key, len(all),
				maxParts)
		}
	}
	return all, nil
}
