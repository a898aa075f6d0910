// Package train makes the embedded toy model. It trains the byte-level BPE and a BLOOM decoder on
// the grammar of package tiny, measures the decoder on combinations that it never saw, and writes a
// directory in the layout of Hugging Face with a report.
//
// Everything follows from the seed: the words, the batches and the first weights. The losses of two
// runs agree up to the rounding of the backend.
package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/tokenizer"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Config says how to train.
type Config struct {
	Seed   uint64  `json:"seed"`
	Steps  int     `json:"steps"`         // of the whole schedule
	Batch  int     `json:"batch"`         // rows
	Length int     `json:"length"`        // tokens a row
	Peak   float64 `json:"learning_rate"` // after warm-up; a cosine takes it to a twentieth
	WarmUp int     `json:"warm_up"`       // steps
	// Context is the weight of tokens that are not part of an answer. Tokens of answers have weight
	// 1.
	Context float64 `json:"context_weight"`
	// Guided is for how many steps one head is shown the evidence, 0 for a model without guidance.
	// The weight of this falls linearly from 1 to 0.
	Guided int `json:"guided_steps"`
}

// Default returns the configuration that the embedded model was made with.
func Default() Config {
	return Config{
		Seed: 1, Steps: 2400, Batch: 32, Length: 64, Peak: 2e-3, WarmUp: 200,
		Context: 0.05, Guided: 1000,
	}
}

// newSpec returns the spec of the embedded model for a vocabulary.
func newSpec(t *tokenizer.Tokenizer) *spec.Spec {
	bos, _ := t.ID(bosToken)
	eos, _ := t.ID(eosToken)
	return &spec.Spec{
		Family: "bloom", Layers: 6, Heads: 8, Width: 128, HeadWidth: 16, FeedForward: 512,
		Vocab:     t.VocabSize(),
		Positions: spec.ALiBi, AlibiSlopes: spec.AlibiSlopes(8), EmbeddingNorm: true,
		NormEpsilon: 1e-5,
		Activation:  spec.GELUTanh, ProjectionBias: true, OutputBias: true, MLPBias: true,
		TiedHead: true, BOS: bos, EOS: []int{eos},
	}
}

// Trainer holds the weights and the optimizer's state.
type Trainer struct {
	cfg   Config
	spec  *spec.Spec
	tok   *tokenizer.Tokenizer
	store *model.Store
	exec  *model.Exec
	rate  *model.Variable // the optimizer's learning rate
	step  int
}

// NewTrainer returns a trainer before its first step.
func NewTrainer(backend compute.Backend, cfg Config, tok *tokenizer.Tokenizer) (*Trainer, error) {
	t := &Trainer{cfg: cfg, spec: newSpec(tok), tok: tok, store: model.NewStore()}
	rng := rand.New(rand.NewPCG(cfg.Seed, 0))
	for _, p := range t.spec.Params() {
		v := tensors.FromFlatDataAndDimensions(initial(p, t.spec, rng), p.Shape...)
		if _, err := t.store.CreateVariable("/"+variable(p.Name), v); err != nil {
			return nil, fmt.Errorf("train: %s: %w", p.Name, err)
		}
	}
	t.rate = optimizer.LearningRateVar(t.store.RootScope(), dtypes.Float32, cfg.Peak)
	adam := optimizer.Adam().LearningRate(cfg.Peak).Betas(0.9, 0.99).Done()
	build := func(scope *model.Scope, ids, targets, weights, evidence, guide *Node) *Node {
		g := ids.Graph()
		w := func(name string) *Node {
			return scope.Store().GetVariable("/" + variable(name)).NodeValue(g)
		}
		logits, attention := transformer.Logits(t.spec, w, ids)
		loss := weightedLoss(logits, targets, weights)
		adam.UpdateGraph(scope, g, Add(loss, Mul(guide, guidance(attention, evidence))))
		return loss
	}
	exec, err := model.NewExec(backend, t.store, build)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	t.exec = exec
	return t, nil
}

// variable returns the name of a parameter in the store, which needs a path. Dots are allowed in
// it.
func variable(param string) string { return "decoder/" + param }

// initial draws a parameter: gains are 1, biases 0, and matrices normal with deviation 0.05.
// Matrices that write into the residual stream are smaller by √(2L) (Radford et al. 2019, §2.3).
func initial(p spec.Param, spec *spec.Spec, rng *rand.Rand) []float32 {
	data := make([]float32, p.Size())
	deviation := 0.05
	if hasSuffix(p.Name, "output.weight", "down.weight") {
		deviation /= math.Sqrt(2 * float64(spec.Layers))
	}
	for i := range data {
		switch {
		case hasSuffix(p.Name, ".gain"):
			data[i] = 1
		case len(p.Shape) == 2:
			data[i] = float32(deviation * rng.NormFloat64())
		}
	}
	return data
}

// weightedLoss is Σ w·(-log p(target)) / Σ w in nats, for logits [B,T,V], targets and weights
// [B,T].
func weightedLoss(logits, targets, weights *Node) *Node {
	logProbabilities := LogSoftmax(logits, -1)
	hit := OneHot(targets, logits.Shape().Dimensions[2], dtypes.Float32)
	nats := Neg(ReduceSum(Mul(hit, logProbabilities), -1)) // [B,T]
	return Div(ReduceAllSum(Mul(nats, weights)), ReduceAllSum(weights))
}

// guidedLayer and guidedHead name the one head that is shown the evidence at the beginning of
// training. Its ALiBi slope is flat enough to look anywhere in a text.
const (
	guidedLayer = 3
	guidedHead  = 6
)

// guidance is -log of the attention that the guided head pays to the evidence, in nats, averaged
// over the positions that have evidence. evidence is [B,T,T]: 1 where target t depends on source s.
func guidance(attention []*Node, evidence *Node) *Node {
	// [B,T,T]
	head := Squeeze(SliceAxis(attention[guidedLayer], 1, AxisRange(guidedHead, guidedHead+1)), 1)
	// [B,T]
	paid := ReduceSum(Mul(head, evidence), -1)
	asked := ReduceMax(evidence, -1)
	nats := Neg(Mul(Log(AddScalar(paid, 1e-6)), asked))
	return Div(ReduceAllSum(nats), AddScalar(ReduceAllSum(asked), 1e-6))
}

// Step trains on the next batch and returns its loss in nats.
func (t *Trainer) Step(ctx context.Context) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("train: stopped before step %d: %w", t.step, err)
	}
	if err := t.rate.SetValue(tensors.FromScalar(float32(t.cfg.rate(t.step)))); err != nil {
		return 0, fmt.Errorf("train: %w", err)
	}
	b := newBatch(t.cfg, t.tok, t.step)
	out, err := t.exec.Call(b.tensor(b.ids), b.tensor(b.targets),
		tensors.FromFlatDataAndDimensions(b.weights, b.rows, b.length),
		tensors.FromFlatDataAndDimensions(b.evidence, b.rows, b.length,
			b.length), tensors.FromScalar(float32(t.cfg.guide(t.step))))
	if err != nil {
		return 0, fmt.Errorf("train: step %d: %w", t.step, err)
	}
	t.step++
	loss := float64(out[0].Value().(float32))
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, fmt.Errorf("train: step %d: the loss is %v", t.step-1, loss)
	}
	return loss, nil
}

// guide returns the weight of the guidance at a step.
func (c Config) guide(step int) float64 {
	if c.Guided == 0 {
		return 0
	}
	return max(0, 1-float64(step)/float64(c.Guided))
}

// rate returns the learning rate of a step: a linear warm-up, then half a cosine down to a
// twentieth.
func (c Config) rate(step int) float64 {
	if step < c.WarmUp {
		return c.Peak * float64(step+1) / float64(c.WarmUp)
	}
	done := float64(step-c.WarmUp) / float64(max(1, c.Steps-c.WarmUp))
	return c.Peak * (0.05 + 0.95*(1+math.Cos(math.Pi*min(1, done)))/2)
}

// Weights returns a copy of a parameter.
func (t *Trainer) Weights(p spec.Param) ([]float32, error) {
	v, err := t.store.GetVariable("/" + variable(p.Name)).Value()
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w", p.Name, err)
	}
	var out []float32
	err = v.ConstFlatData(func(flat any) { out = append(out, flat.([]float32)...) })
	return out, err
}
