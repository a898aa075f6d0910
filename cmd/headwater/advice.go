package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/certificate"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
	"github.com/headwater-ml/headwater/models"
)

// said returns the text of an error for the user of the command: without the names of packages,
// with flags in the place of options and fields, and with the flag or the command that helps.
// Libraries know neither.
func said(err error) string {
	text := message.WithoutPackages(err.Error())
	usage := (*trace.UsageError)(nil)
	if errors.As(err, &usage) && usage.Option != "" {
		if row, ok := attribution.FindOption(usage.Option); ok && row.Flag != "" {
			reason := message.WithoutPackages(usage.Reason)
			text = strings.Replace(text, reason, row.Called(reason, "--"+row.Flag), 1)
		}
	}
	text = message.Rename(text, flagsOfFields)
	if help := advice(err); help != "" {
		text += " (" + help + ")"
	}
	return text
}

// flagsOfFields has the flags of the fields that libraries mention. Fields of one word, such as
// Lift, are not among them: a sentence may begin with that word.
var flagsOfFields = func() map[string]string {
	flags := map[string]string{
		"MaxMemory": "--max-memory", "Options.Chat": "--chat", "PreTokenizer": "--pre",
	}
	for _, row := range attribution.OptionTable() {
		for _, field := range strings.Split(row.Field, " and ") {
			if row.Flag != "" && strings.ContainsFunc(field[1:], unicode.IsUpper) {
				flags[field] = "--" + row.Flag
			}
		}
	}
	return flags
}()

// advice returns which flag or command helps, "" if none does.
func advice(err error) string {
	cache := (*models.CacheError)(nil)
	switch {
	case errors.As(err, &cache):
		return "headwater download " + cache.Ref + " fetches it again"
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
