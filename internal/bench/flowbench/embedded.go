package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/bench/flowmaps"
	"github.com/headwater-ml/headwater/models"
)

// embedded returns the attention of the embedded model over T tokens of its examples, heads
// averaged, with ½ residual.
func embedded(ctx context.Context, T int) (flowmaps.Maps, error) {
	m, err := models.Open("", models.Options{Backend: "go"})
	if err != nil {
		return flowmaps.Maps{}, err
	}
	text := strings.Join(m.Examples(), " ")
	tokens, err := m.Encode(strings.Repeat(text+" ", 1+T/8), trace.SpecialsAuto)
	if err != nil {
		return flowmaps.Maps{}, err
	}
	ask := trace.Ask{Mixings: []trace.MixingAsk{{Name: "attention", AllRows: true}}, MaxTokens: 1}
	for step, err := range m.Steps(ctx, trace.IDs(tokens[:T]), ask) {
		if err != nil {
			return flowmaps.Maps{}, err
		}
		rows := step.Rows[0]
		fill := func(l, i int, row []float64) {
			for j := range row {
				row[j] = float64(rows.Row(l, 0, i)[j])
			}
		}
		return flowmaps.Fill(fmt.Sprintf("embedded-%d", T), rows.L, T, false, true, fill), nil
	}
	return flowmaps.Maps{}, fmt.Errorf("the embedded model took no step")
}
