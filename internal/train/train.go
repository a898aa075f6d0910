// Package train makes the embedded models of package tiny: two BLOOM decoders, a BERT for verb
// number, a BERT that fills in masked words, and a DistilBERT for sentiment. It makes the tokenizer
// of a model, trains the model on its grammar, measures it on combinations that it never saw, and
// writes a directory in the layout of Hugging Face with a report. All models have one [Trainer]; a
// recipe has what differs.
//
// Everything follows from the seed: the words, the batches and the first weights. The losses of two
// runs agree up to the rounding of the backend.
package train

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/tiny"
	"github.com/headwater-ml/headwater/internal/tokenizer"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("train")

// Config has the settings of a training.
type Config struct {
	// Model is the name of the model in package tiny; "" is the first one.
	Model  string  `json:"model,omitempty"`
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

// For returns the configuration that an embedded model was made with.
func For(name string) (Config, error) {
	cfg := Config{Model: name, Seed: 1, Batch: 64, Length: sentenceLength, Peak: 1e-3, WarmUp: 200}
	switch name {
	case tiny.Name:
		return Default(), nil
	case tiny.VerbName:
		cfg.Steps, cfg.WarmUp = 500, 100
	case tiny.MaskedName:
		cfg.Steps, cfg.WarmUp, cfg.Context = 600, 100, 0.2
	case tiny.SentimentName:
		cfg.Steps, cfg.WarmUp = 700, 100
	case tiny.AlibiName:
		cfg.Batch, cfg.Length, cfg.Context = 16, 64, 0.1
		cfg.Steps, cfg.WarmUp, cfg.Peak = 3000, 100, 3e-3
	case tiny.TranslationName:
		cfg.Steps, cfg.Length, cfg.Peak = 1000, 2*stackLength, 2e-3
	default:
		return Config{}, pkg.Errorf("there is no recipe for %.60q; there are %s", name,
			strings.Join(tiny.Names(), ", "))
	}
	return cfg, nil
}

// Default returns the configuration that the embedded model was made with.
func Default() Config {
	return Config{
		Seed: 1, Steps: 2400, Batch: 32, Length: 64, Peak: 2e-3, WarmUp: 200,
		Context: 0.05, Guided: 1000,
	}
}

// Trainer holds the weights and the optimizer's state.
type Trainer struct {
	cfg    Config
	recipe recipe
	spec   *spec.Spec
	tok    *tokenizer.Tokenizer
	store  *model.Store
	exec   *model.Exec
	rate   *model.Variable // the optimizer's learning rate
	step   int
}

// NewTrainer returns a trainer before its first step.
func NewTrainer(backend compute.Backend, cfg Config, tok *tokenizer.Tokenizer) (*Trainer, error) {
	r, err := recipeOf(cfg)
	if err != nil {
		return nil, err
	}
	t := &Trainer{cfg: cfg, recipe: r, spec: r.spec(tok), tok: tok, store: model.NewStore()}
	rng := rand.New(rand.NewPCG(cfg.Seed, 0))
	for _, p := range t.spec.Params() {
		v := tensors.FromFlatDataAndDimensions(initial(p, t.spec, rng), p.Shape...)
		if _, err := t.store.CreateVariable("/"+variable(p.Name), v); err != nil {
			return nil, pkg.Errorf("%s: %w", p.Name, err)
		}
	}
	t.rate = optimizer.LearningRateVar(t.store.RootScope(), dtypes.Float32, cfg.Peak)
	adam := optimizer.Adam().LearningRate(cfg.Peak).Betas(0.9, 0.99).Done()
	parameter := func(scope *model.Scope, g *Graph) func(name string) *Node {
		return func(name string) *Node {
			return scope.Store().GetVariable("/" + variable(name)).NodeValue(g)
		}
	}
	guided := func(scope *model.Scope, ids, targets, weights, evidence, guide *Node) *Node {
		g := ids.Graph()
		logits, attention := transformer.Scores(t.spec, parameter(scope, g), ids, nil)
		loss := weightedLoss(logits, targets, weights)
		adam.UpdateGraph(scope, g, Add(loss, Mul(guide, guidance(attention, evidence))))
		return loss
	}
	unguided := func(scope *model.Scope, ids, targets, weights, real *Node) *Node {
		g := ids.Graph()
		scores, _ := transformer.Scores(t.spec, parameter(scope, g), ids, real)
		if scores.Rank() == 2 { // one target for each text
			scores = InsertAxes(scores, 1)
		}
		loss := weightedLoss(scores, targets, weights)
		adam.UpdateGraph(scope, g, loss)
		return loss
	}
	if r.guided {
		t.exec, err = model.NewExec(backend, t.store, guided)
	} else {
		t.exec, err = model.NewExec(backend, t.store, unguided)
	}
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
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
	if strings.HasSuffix(p.Name, "output.weight") || strings.HasSuffix(p.Name, "down.weight") {
		deviation /= math.Sqrt(2 * float64(spec.Layers))
	}
	for i := range data {
		switch {
		case strings.HasSuffix(p.Name, ".gain"):
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
		return 0, pkg.Errorf("stopped before step %d: %w", t.step, err)
	}
	if err := t.rate.SetValue(tensors.FromScalar(float32(t.cfg.rate(t.step)))); err != nil {
		return 0, pkg.Errorf("%w", err)
	}
	b := t.recipe.batch(t.cfg, t.tok, t.step)
	inputs := []any{
		b.tensor(b.ids),
		tensors.FromFlatDataAndDimensions(b.targets, b.rows, len(b.targets)/b.rows),
		tensors.FromFlatDataAndDimensions(b.weights, b.rows, len(b.weights)/b.rows),
	}
	if t.recipe.guided {
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(b.evidence, b.rows, b.length,
			b.length), tensors.FromScalar(float32(t.cfg.guide(t.step))))
	} else {
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(b.real, b.rows, b.length))
	}
	out, err := t.exec.Call(inputs...)
	if err != nil {
		return 0, pkg.Errorf("step %d: %w", t.step, err)
	}
	t.step++
	loss := float64(out[0].Value().(float32))
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, pkg.Errorf("step %d: the loss is %v", t.step-1, loss)
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
		return nil, pkg.Errorf("%s: %w", p.Name, err)
	}
	var out []float32
	err = v.ConstFlatData(func(flat any) { out = append(out, flat.([]float32)...) })
	return out, err
}
