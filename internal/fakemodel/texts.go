package fakemodel

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// Distributions returns softmax(logits) after each token of a text, [T][V], by one pass over it.
func Distributions(t *testing.T, m trace.Tracer, ids []int) (all [][]float64) {
	t.Helper()
	taps, err := m.Trace(context.Background(), ids, []trace.Tap{trace.Logits})
	if err != nil {
		t.Fatal(err)
	}
	V := taps[0].Shape[1]
	for at := range ids {
		all = append(all, Softmax(taps[0].Data[at*V:][:V]))
	}
	return all
}

// Softmax returns the probabilities of logits that are not large.
func Softmax(logits []float32) []float64 {
	p, sum := make([]float64, len(logits)), 0.0
	for i, x := range logits {
		p[i] = math.Exp(float64(x))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// Conversation is the prompt of a chat, token by token.
type Conversation struct {
	Text    string
	IDs     []int
	Texts   []string
	Offsets [][2]int
	Parts   []trace.Part
}

// Converse returns a conversation with a token for each word, whose id is its first byte, after one
// for the begin of the text. A word of turn N, "N.word", belongs to that turn; in capital letters,
// the template wrote it.
func Converse(words string) *Conversation {
	c := &Conversation{IDs: []int{0}, Texts: []string{"<s>"}, Offsets: [][2]int{{0, 0}}}
	for word := range strings.FieldsSeq(words) {
		turn, text, _ := strings.Cut(word, ".")
		begin := len(c.Text)
		c.Text += text
		c.IDs, c.Texts = append(c.IDs, int(text[0])), append(c.Texts, text)
		c.Offsets = append(c.Offsets, [2]int{begin, len(c.Text)})
		part := trace.Part{Turn: int(turn[0] - '0'), Begin: begin, End: len(c.Text)}
		if text == strings.ToUpper(text) {
			part.Kind = trace.Label
		}
		c.Parts = append(c.Parts, part)
	}
	return c
}
