package mutation

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/headwater-ml/headwater/internal/mutant"
)

// softmax returns the softmax of n normal numbers times scale.
func softmax(r *rand.Rand, n int, scale float64) []float64 {
	row, most, sum := make([]float64, n), math.Inf(-1), 0.0
	for i := range row {
		row[i] = r.NormFloat64() * scale
		most = max(most, row[i])
	}
	for i := range row {
		row[i] = math.Exp(row[i] - most)
		sum += row[i]
	}
	for i := range row {
		row[i] /= sum
	}
	return row
}

// fragments are what hostile texts are put together of.
var fragments = []string{
	"the keys to the cabinet", " is", "mary has the red key .", "who has the lamp ?", " ", "\t",
	"\n", "\r\n", "\x00", "\x1b[31m", "<script>alert(1)</script>", "</td>",
	`"'><img src=x onerror=alert(1)>`, "&amp;", "{{", "{% for x in range(10**9) %}", "$(id)",
	"`id`", "%s%n%d", "../../etc/passwd", "\u202e\u2066", "\u200d", "👩‍👩‍👧‍👦", "é", "e\u0301",
	"\ufeff", "\U0010ffff", "漢字", "\xff\xfe", "a\xc3", "<bos>", "<eos>", "[MASK]", "<|im_start|>",
	"\u0000\u0000", "ﷺ", "'", "-", "--", "0",
}

// hostileText returns a text of a few fragments, now and then a long one.
func hostileText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		b.WriteString(mutant.Pick(r, fragments))
	}
	switch r.IntN(20) {
	case 0:
		return strings.Repeat(b.String(), 1+r.IntN(2000))
	case 1:
		return ""
	}
	return b.String()
}

// hostilePrompt returns a text of up to 1,400 tokens, which are read in tiles. Longer texts fit the
// memory too, but the time of one in pure Go grows with the square of its length: 2,500 tokens took
// 30 s of an AMD EPYC with AVX2.
func hostilePrompt(r *rand.Rand) string {
	const most = 1400
	text := hostileText(r)
	return text[:min(len(text), most)]
}

// mutatePrompt explains hostile texts in every format.
func mutatePrompt(r *rand.Rand, _ *Seeds) Mutant {
	prompt := strings.ReplaceAll(hostilePrompt(r), "\x00", "") // no argument can hold a NUL
	methods := []string{
		"rollout", "flow", "value-zeroing", "raw,rollout,flow", "gradient", "attn-lrp",
		"norms,alti",
	}
	args := []string{
		"explain", "--backend", "go", "--max-memory", limit, "--max-tokens", mutant.Pick(r,
			[]string{"1", "2", "3"}),
		"--methods", mutant.Pick(r, methods), "--format", mutant.Pick(r, []string{"text", "html", "json"}),
	}
	if r.IntN(3) == 0 {
		args = append(args, "--continuation="+mutant.Pick(r, []string{" is", "are", "\xff", " <b>", "  "}))
	}
	if r.IntN(4) == 0 {
		args = append(args, "--by",
			mutant.Pick(r, []string{"word", "sentence", "0:3,4:7", "5:2", "0:99999"}))
	}
	if r.IntN(4) == 0 {
		args = append(args, "--top", mutant.Pick(r, []string{"1", "3", "1000000"}))
	}
	return Mutant{Args: append(args, "--", prompt)}
}

// mutateLines damages the lines of --input.
func mutateLines(r *rand.Rand, _ *Seeds) Mutant {
	var input []byte
	for range 1 + r.IntN(3) {
		line := mutant.Object("prompt", mutant.Quote(strings.ToValidUTF8(hostilePrompt(r), "")))
		if r.IntN(2) == 0 {
			line.Set("continuation", mutant.Scalar(mutant.Quote(mutant.Pick(r, []string{" is", " are", "", "\u2028"}))))
		}
		if r.IntN(6) == 0 {
			line.Set("positions",
				mutant.Scalar(mutant.Pick(r, []string{"[0]", "[1,2]", "[-1]", "[99999999999]", "[1.5]"})))
		}
		if r.IntN(2) == 0 {
			line.Damage(r, nil)
		}
		text := line.Text()
		if r.IntN(8) == 0 {
			text = mutant.Scratch(r, text)
		}
		input = append(append(input, text...), '\n')
	}
	return Mutant{
		Args: []string{
			"explain", "--backend", "go", "--max-memory", limit, "--max-tokens", "1",
			"--methods", mutant.Pick(r,
				[]string{"rollout", "raw", "flow"}), "--input", "prompts.jsonl", "-o", "out.jsonl",
		},
		Files:  map[string][]byte{"prompts.jsonl": input},
		Output: "out.jsonl",
		Names:  [][]string{{"prompts.jsonl"}, {"line "}},
	}
}
