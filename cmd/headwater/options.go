package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models"
)

// modelFlags say which model runs on what.
type modelFlags struct {
	model, backend, dtype string
	maxMemory             int64 // bytes; 0: what the machine has
	shuffle               uint64
	allowNaN              bool
}

func (f *modelFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.model, "model", "m", "", "the `MODEL`: an embedded one, a directory in Hugging Face layout or a name of the Hub such as openai-community/gpt2[@revision] (default tiny)")
	cmd.Flags().Func("dtype", "hold the weights as `TYPE`: float32, or bfloat16 for half the memory and about 2 digits (default float32)", func(s string) error {
		if known := []string{"float32", "bfloat16"}; !slices.Contains(known, s) {
			return errors.New(trace.KnownAre(s, known))
		}
		f.dtype = s
		return nil
	})
	maxMemoryFlag(cmd, &f.maxMemory, "weights and what a run records")
	f.addBackend(cmd)
}

// maxMemoryFlag adds --max-memory; what says what takes the memory besides the program.
func maxMemoryFlag(cmd *cobra.Command, to *int64, what string) {
	usage := "let the program take at most `SIZE` of memory in all, with " + what +
		", such as 8GB or 500MB (default what the machine has left)"
	cmd.Flags().Func("max-memory", usage, func(s string) (err error) {
		*to, err = parseSize(s)
		return err
	})
}

// parseSize reads a number of bytes: 8GB, 500MB, 1.5GiB, 4096.
func parseSize(s string) (int64, error) {
	number := strings.TrimRight(s, "BGKMTbgikmt ")
	x, err := strconv.ParseFloat(number, 64)
	factor, ok := map[string]float64{
		"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}[strings.ToLower(strings.TrimSpace(s[len(number):]))]
	if err != nil || !ok || !(x*factor >= 1 && x*factor < 1e18) {
		return 0, fmt.Errorf("want a size such as 8GB, 500MB or 1.5GiB")
	}
	return int64(x * factor), nil
}

func (f *modelFlags) addBackend(cmd *cobra.Command) {
	const names = "go, xla, cuda, and xla:PATH and cuda:PATH of a PJRT plugin"
	usage := "what computes, by `NAME`: " + names + " (default go for the embedded model, xla for others if it is there)"
	cmd.Flags().Func("backend", usage, func(s string) error {
		kind, path, named := strings.Cut(s, ":")
		if s != "" && (!slices.Contains(models.Backends(), kind) || named && (path == "" || kind == "go")) {
			near := ""
			if !slices.Contains(models.Backends(), kind) {
				near = trace.DidYouMean(kind, models.Backends())
			}
			return fmt.Errorf("%sknown are %s", near, names)
		}
		f.backend = s
		return nil
	})
}

// methodFlags adds the flags that say what is computed.
func methodFlags(cmd *cobra.Command, o *attribution.Options, methods string) {
	f := cmd.Flags()
	f.Func("methods", "`names` of methods, joined by commas; see headwater methods"+methods, func(s string) error {
		for name := range strings.SplitSeq(s, ",") {
			m, err := attribution.LookupMethod(strings.TrimSpace(name))
			if err != nil {
				return err
			}
			o.Methods = append(o.Methods, m.Name)
		}
		return nil
	})
	f.Func("heads", "fuse attention heads as `mean|max|min|K`; K is one head's number from 0 (default mean)", func(s string) (err error) {
		o.Heads, err = trace.ParseHeads(s)
		if err != nil || s == "" || o.Heads.Fusion == trace.EachHead || o.Heads.Head > maxIndex { // methods need one matrix a layer
			near := trace.DidYouMean(s, []string{"mean", "max", "min"})
			return fmt.Errorf("%swant mean, max, min or the number of a head, from 0 to %d", near, maxIndex)
		}
		return nil
	})
	f.Func("per-head", "look at head `K` of each layer over lower layers merged by their mean", func(s string) error {
		return setIndex(&o.PerHead, s)
	})
	f.Func("residual", "weight `R` of the residual connection, from 0 to 1 (default: each method's own, mostly 0.5)", func(s string) error {
		r, err := strconv.ParseFloat(s, 64)
		if err != nil || !(r >= 0 && r <= 1) {
			return fmt.Errorf("want a number from 0 to 1")
		}
		o.Residual = &r
		return nil
	})
	f.Func("layers", "combine layers `A:B` only, from 0 and inclusive; A: and :B leave one end open (default all)", func(s string) error {
		return setLayers(o, s)
	})
	realFlag(f, &o.Threshold, "threshold", maxThreshold, false, "set value-zeroing distances below `D` to 0", "0, none")
	f.BoolVar(&o.Lift, "lift", false, "divide by what uniform attention would give at the same place; for raw, rollout and flow")
	f.BoolVar(&o.LocalLift, "local-lift", false, "divide each layer's rows by uniform attention before the residual is added")
	f.BoolVar(&o.MeasuredResidual, "measured-residual", false, "weigh the residual of each token and layer by the model's own mixing ratio")
	f.BoolVar(&o.DropSink, "drop-sink", false, "take the first source out of every row before layers are combined")
	realFlag(f, &o.Discard, "discard", 1, true,
		"before the residual is added, set the lowest entries to 0, this `PART` of each row in a decoder, of the whole map in an encoder",
		"0, none")
	f.BoolVar(&o.DiscardWhole, "discard-whole", false,
		"let --discard take the whole map in a decoder too, zeros above the diagonal included; not while it generates")
}

// scorerFlags adds the flags that say how scorers work.
func scorerFlags(cmd *cobra.Command, o *attribution.Options) {
	f := cmd.Flags()
	f.StringVar(&o.Contrast, "contrast", "", "let scorers explain why the prediction came and not this `token` or class; begin it with a space where one belongs")
	f.Func("quantity", "let scorers explain the `logit|probability|log-probability` (default each scorer's own)", func(s string) (err error) {
		o.Scoring.Quantity, err = trace.ParseQuantity(s)
		return err
	})
	wholeFlag(f, &o.Scoring.Steps, "steps", 1, maxSteps,
		"take `N` points of the integral of integrated gradients, between its two ends", "32")
	wholeFlag(f, &o.Scoring.Samples, "samples", 1, maxSamples, "draw `N` random replacements in reagent", "256")
	f.StringVar(&o.Scoring.Replacement, "replacement", "", "`what` stands for a token that occlusion and its like take away: mask, unknown, pad, end, delete, zero or a token (default the first of mask, unknown and delete that the model has); at every place at once it is the baseline of integrated gradients (default the first of mask, unknown, end and pad that is not nearly zero)")
	wholeFlag(f, &o.Scoring.Batch, "batch", 1, maxBatch, "let scorers run `N` texts at once", "16")
}

// generationFlags adds the flags that say what is generated and which rows explain it.
func generationFlags(cmd *cobra.Command, o *attribution.Options) {
	f := cmd.Flags()
	wholeFlag(f, &o.MaxTokens, "max-tokens", 1, maxTokens, "generate at most `N` tokens", "16")
	f.Func("continuation", "explain this `text` instead of one that the model chooses; begin it with a space where one belongs", func(s string) error {
		if s == "" {
			return fmt.Errorf("want some text")
		}
		o.Continuation = s
		return nil
	})
	f.Func("position", "of an encoder, explain the tokens at these `numbers` from 0, joined by commas (default every [MASK], or where the class is read)", func(s string) error {
		return addPositions(o, s)
	})
	specialFlag(cmd, &o.Specials)
	f.BoolVar(&o.Chat, "chat", false, "take the prompt for what a user says, put it into the model's chat template, and explain the answer")
	realFlag(f, &o.Sampling.Temperature, "temperature", maxTemperature, false, "draw tokens at temperature `T`", "0, which takes the most probable one")
	wholeFlag(f, &o.Sampling.TopK, "top-k", 0, maxTopK, "draw among the `K` most probable tokens", "0, which is all")
	realFlag(f, &o.Sampling.TopP, "top-p", 1, false, "draw among the most probable tokens that have `P` together", "0, which is all")
	f.Uint64Var(&o.Sampling.Seed, "seed", 0, "`number` that drawing begins with, from 0 to 18446744073709551615; equal ones give equal tokens")
	wholeFlag(f, &o.Alternatives, "alternatives", 1, maxAlternatives, "show the `N` most probable tokens of each place", "5")
	f.BoolVar(&o.AllLevels, "all-levels", false, "compute flow of every layer, not of the top one alone: as many times the work")
	f.BoolVar(&o.OwnRow, "own-row", false, "explain each token by its own row, not by the row that predicts it")
}

// byFlag adds --by.
func byFlag(cmd *cobra.Command, by *attribution.Grouping) {
	cmd.Flags().Func("by", "put prompt tokens together by `word|sentence|BEGIN:END,BEGIN:END`, bytes of the prompt from 0 and END not included: shares and scores are added up, of flow and lift the highest counts (default tokens)", func(s string) (err error) {
		if *by, err = attribution.ParseGrouping(s); err != nil || s == "" {
			return fmt.Errorf("%swant word, sentence, or bytes as BEGIN:END,BEGIN:END, counted from 0 and END not included",
				trace.DidYouMean(s, []string{"word", "sentence"}))
		}
		return nil
	})
}

// addPositions reads numbers from 0, joined by commas.
func addPositions(o *attribution.Options, s string) error {
	for number := range strings.SplitSeq(s, ",") {
		at := 0
		if err := setWhole(&at, strings.TrimSpace(number), 0, maxIndex); err != nil {
			return fmt.Errorf("want whole numbers from 0 to %d, joined by commas", maxIndex)
		}
		o.Positions = append(o.Positions, at)
	}
	return nil
}

// specialFlag adds --special.
func specialFlag(cmd *cobra.Command, s *trace.Specials) {
	cmd.Flags().Func("special", "put begin-of-text before the prompt: `on|off|auto` (default auto, as the tokenizer says)", func(v string) error {
		switch v {
		case "on":
			*s = trace.SpecialsOn
		case "off":
			*s = trace.SpecialsOff
		case "auto":
			*s = trace.SpecialsAuto
		default:
			return errors.New(trace.KnownAre(v, []string{"on", "off", "auto"}))
		}
		return nil
	})
}

// checkSampling refuses settings that would do nothing.
func checkSampling(cmd *cobra.Command, o attribution.Options) error {
	for _, name := range []string{"top-k", "top-p", "seed"} {
		if cmd.Flags().Changed(name) && o.Sampling.Temperature == 0 {
			return usagef("--%s does nothing without --temperature above 0: the most probable token is taken", name)
		}
	}
	return nil
}

// setLayers reads A:B, A:, :B or A.
func setLayers(o *attribution.Options, s string) error {
	first, last, isRange := strings.Cut(s, ":")
	if !isRange {
		last = first
	}
	o.FirstLayer, o.LastLayer = 0, nil
	var start *int
	if err := setOpen(&start, first); err != nil {
		return err
	}
	if start != nil {
		o.FirstLayer = *start
	}
	if s == "" || s == ":" {
		return fmt.Errorf("want A:B, A:, :B or A")
	}
	return setOpen(&o.LastLayer, last)
}

// setOpen is setIndex, and the empty string leaves it open.
func setOpen(p **int, s string) error {
	if s == "" {
		return nil
	}
	return setIndex(p, s)
}

// oneOf returns a usage error if a flag's value is not one of those known.
func oneOf(flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return usagef("--%s %.60q is unknown; %s", flag, value, trace.KnownAre(value, known))
}
