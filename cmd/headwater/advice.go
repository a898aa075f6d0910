package main

import (
	"errors"
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/models"
)

// advise adds to an error of a library what the user of the command can do about it: the flag or the
// command that helps. Libraries know neither.
func advise(err error) error {
	for _, advice := range []func(error) string{optionAdvice, memoryAdvice} {
		if text := advice(err); text != "" {
			return fmt.Errorf("%w%s", err, text)
		}
	}
	return err
}

// optionAdvice names the flag of the option that an error is about.
func optionAdvice(err error) string {
	usage := (*attribution.UsageError)(nil)
	if !errors.As(err, &usage) || usage.Option == "" {
		return ""
	}
	if flag := attribution.LookupOption(usage.Option).Flag; flag != "" {
		return " (--" + flag + ")"
	}
	return ""
}

// memoryAdvice names the flag that allows more memory.
func memoryAdvice(err error) string {
	if refused := (*attribution.MemoryError)(nil); errors.As(err, &refused) {
		return " (--max-memory)"
	}
	return ""
}

// adviseNaN adds the flag that lets a model run whose numbers are NaN or infinite. Only headwater
// trace has it.
func adviseNaN(err error) error {
	weight, result := (*models.WeightError)(nil), (*models.ResultError)(nil)
	if errors.As(err, &weight) || errors.As(err, &result) {
		return fmt.Errorf("%w (--allow-nan writes the tensors all the same)", err)
	}
	return err
}
