package e2e

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/certificate"
	"github.com/headwater-ml/headwater/internal/e2e/fixture"
	"github.com/headwater-ml/headwater/internal/golden"
	"github.com/headwater-ml/headwater/models"
	_ "github.com/headwater-ml/headwater/models/xla"
)

// sampleModel is the checkpoint whose certificate docs/measured/models.md shows, from root.
const sampleModel = "models/testdata/goldens/llama3_rope"

// sampleChecks begin the rows that it shows.
var sampleChecks = []string{
	"attention  ", "hidden states", "logits", "cached decode against one pass: attention", "cached decode against one pass: Value Zeroing",
	"every tap on", "Value Zeroing against", "value outputs against", "attention against",
}

// rounded are the figures of a certificate that another machine rounds differently: the worst error
// and where it is.
var rounded = regexp.MustCompile(`worst \S+|, at .*`)

// TestReadmeCertificate compares the certificate in docs/measured/models.md with what the command
// prints, except for rounding.
func TestReadmeCertificate(t *testing.T) {
	const dir = "../../" + sampleModel
	m := fixture.Open(t, dir, "xla")
	g, err := golden.Open(dir + "/golden.safetensors")
	must(t, err)
	defer g.Close()
	openGo := func() (*models.Model, error) {
		return models.Open(dir, models.Options{Backend: "go"})
	}
	opts := certificate.Options{Golden: g, Other: openGo}
	c, err := certificate.Run(context.Background(), m, opts)
	must(t, err)
	var table bytes.Buffer
	if _, err := c.WriteTo(&table); err != nil {
		t.Fatal(err)
	}
	sample := "```\n$ headwater certify --model " + sampleModel + " --golden " + sampleModel +
		"/golden.safetensors\n" + shortened(table.String()) + "```\n"
	partBut(t, "docs/measured/models.md", "certificate",
		strings.ReplaceAll(sample, "../../", ""), rounded)
}

// shortened is a certificate without the rows that are not in sampleChecks; a line stands for those
// that are left out in one place.
func shortened(table string) string {
	var kept []string
	for line := range strings.Lines(table) {
		check, isRow := strings.CutPrefix(line, "ok     ")
		shown := !isRow || slices.ContainsFunc(sampleChecks, func(name string) bool {
			return strings.HasPrefix(check, name)
		})
		switch {
		case shown:
			kept = append(kept, line)
		case kept[len(kept)-1] != "…\n":
			kept = append(kept, "…\n")
		}
	}
	return strings.Join(kept, "")
}
