package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/message"
)

// TestNotJSON: errors tell what is wrong with a text without naming a type of Go.
func TestNotJSON(t *testing.T) {
	var into struct {
		Layers []struct{ Size int8 }
		Name   *string
		Good   bool
		More   map[string]int
	}
	for text, want := range map[string]string{
		`{"Layers":3}`:               `"Layers" is a number, want a list`,
		`{"Layers":[{"Size":"12"}]}`: `"Layers.Size" is a string, want a number`,
		`{"Layers":[{"Size":1000}]}`: `"Layers.Size" is 1000, which does not fit`,
		`{"Layers":[{"Size":1` + strings.Repeat("0", 99) + `}]}`: `"Layers.Size" is 1` +
			strings.Repeat("0", 59) + `, which does not fit`,
		`{"Name":[]}`:     `"Name" is a list, want a string`,
		`{"Good":{}}`:     `"Good" is an object, want true or false`,
		`{"More":true}`:   `"More" is true or false, want an object`,
		`[]`:              `it is a list, want an object`,
		`<html>`:          `invalid character '<' looking for beginning of value`,
		`{"Good":true} x`: `invalid character 'x' after top-level value`,
	} {
		err := json.Unmarshal([]byte(text), &into)
		if err == nil {
			t.Fatalf("%s was read", text)
		}
		if got := message.NotJSON(err); got != want {
			t.Errorf("%s: %s; want %s", text, got, want)
		}
	}
}
