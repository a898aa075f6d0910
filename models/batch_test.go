package models_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/modelgolden"
	"github.com/headwater-ml/headwater/models"
)

// TestBatch: on every family that generates, each text of a batch gets the tokens and the numbers
// that it gets alone.
func TestBatch(t *testing.T) {
	dirs, err := filepath.Glob("testdata/goldens/*/config.json")
	if err != nil || len(dirs) < 30 {
		t.Fatalf("%d checkpoints, error %v", len(dirs), err)
	}
	for _, config := range dirs {
		dir := filepath.Dir(config)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m := open(t, dir)
			if info := m.Info(); info.Bidirectional || info.Head != trace.NextToken {
				t.Skip("it does not generate")
			}
			for _, most := range []int{1, 3, 16} {
				modelgolden.Batch(t, m, most)
			}
		})
	}
}

// TestBatchRefusals: what a batch cannot do is said before anything runs.
func TestBatchRefusals(t *testing.T) {
	ctx := context.Background()
	gpt2 := open(t, "testdata/goldens/gpt2")
	for _, c := range []struct {
		name   string
		model  *models.Model
		change func(*trace.Ask)
		want   string
	}{
		{"an encoder", open(t, "testdata/goldens/bert"), func(*trace.Ask) {}, "is an encoder"},
		{"a pass for each pair", gpt2, func(a *trace.Ask) {
			a.Mixings = []trace.MixingAsk{{Name: "value-zeroing"}}
		}, "value-zeroing costs a pass for each pair"},
		{"rows of single layers", gpt2, func(a *trace.Ask) {
			a.Terms.Rows = []trace.MixingAsk{{Name: "value-zeroing"}}
		}, "rows of single layers"},
	} {
		ask := modelgolden.BatchTexts()[6].Ask
		c.change(&ask)
		if err := c.model.CheckBatch(ask, 20); err == nil || !strings.Contains(err.Error(),
			c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if err := gpt2.CheckBatch(modelgolden.BatchTexts()[6].Ask, 20); err != nil {
		t.Errorf("attention and terms: %v", err)
	}
	texts := modelgolden.BatchTexts()[:2]
	first := func(texts []trace.BatchText, most int) error {
		for _, err := range gpt2.Batch(ctx, texts, most) {
			return err
		}
		return nil
	}
	if err := first(texts, 0); err == nil || !strings.Contains(err.Error(), "a batch of 0 texts") {
		t.Errorf("0 texts at a time: error %v", err)
	}
	texts[1].Ask.Mixings = nil
	if err := first(texts, 2); err == nil || !strings.Contains(err.Error(),
		"text 1 of the batch asks for other rows") {
		t.Errorf("different rows: error %v", err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	for _, err := range gpt2.Batch(stopped, modelgolden.BatchTexts()[:1], 2) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a stopped batch: error %v", err)
		}
	}
}

// TestBatchMemory: a batch that does not fit is refused with the number of its texts.
func TestBatchMemory(t *testing.T) {
	m, err := open(t, "testdata/goldens/gpt2").WithMaxMemory(80 << 20)
	must(t, err)
	texts := make([]trace.BatchText, 4096)
	for i := range texts {
		texts[i] = trace.BatchText{IDs: []int{5, 6, 7}, Ask: modelgolden.BatchTexts()[6].Ask}
	}
	need := m.BatchBytes(modelgolden.BatchTexts()[6].Ask, len(texts), 6)
	if need <= m.Memory().Left {
		t.Fatalf("%d texts need %d bytes and %d are left, so the test proves nothing", len(texts),
			need, m.Memory().Left)
	}
	for _, err := range m.Batch(context.Background(), texts, len(texts)) {
		var refused *trace.MemoryError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "4096 texts of 6 tokens") {
			t.Errorf("error %v, want a MemoryError with the number of texts", err)
		}
	}
}
