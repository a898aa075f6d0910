package attribution_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
)

func TestOptionsCheck(t *testing.T) {
	minus, zero, two := -1, 0, 2
	nan := math.NaN()
	for name, c := range map[string]struct {
		opts attribution.Options
		want string // "" if the options are right
	}{
		"nothing":            {attribution.Options{}, ""},
		"layers":             {attribution.Options{FirstLayer: 2, LastLayer: &two, PerHead: &zero}, ""},
		"unknown method":     {attribution.Options{Methods: []string{"nonsense"}}, ""},
		"max tokens":         {attribution.Options{MaxTokens: -5}, "max tokens -5; it must be in [1,4096]"},
		"many tokens":        {attribution.Options{MaxTokens: 4097}, "max tokens 4097"},
		"alternatives":       {attribution.Options{Alternatives: -1}, "alternatives -1"},
		"first layer":        {attribution.Options{FirstLayer: -1}, "first layer -1; layers count from 0"},
		"last layer":         {attribution.Options{LastLayer: &minus}, "layers 0 to -1"},
		"layers backwards":   {attribution.Options{FirstLayer: 3, LastLayer: &two}, "layers 3 to 2"},
		"per-head":           {attribution.Options{PerHead: &minus}, "per-head -1"},
		"head":               {attribution.Options{Heads: trace.Heads{Fusion: trace.OneHead, Head: -1}}, "head -1"},
		"position":           {attribution.Options{Positions: []int{0, -3}}, "position -3"},
		"positions":          {attribution.Options{Positions: make([]int, 1<<20+1)}, "1048577 positions; at most 1048576"},
		"residual of NaN":    {attribution.Options{Residual: &nan}, "residual NaN"},
		"threshold of NaN":   {attribution.Options{Threshold: nan}, "threshold NaN"},
		"endless":            {attribution.Options{Threshold: math.Inf(1)}, "threshold +Inf"},
		"steps of a scorer":  {attribution.Options{Scoring: scorer.Options{Steps: -1}}, "steps -1"},
		"temperature of NaN": {attribution.Options{Sampling: trace.Sampling{Temperature: nan}}, "temperature NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.opts.Check()
			if c.want == "" {
				if err != nil {
					t.Errorf("error %v, want none", err)
				}
				return
			}
			if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want a usage error with %q", err, c.want)
			}
		})
	}
}
