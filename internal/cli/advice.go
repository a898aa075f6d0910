package cli

import (
	"errors"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
	"github.com/headwater-ml/headwater/models"
)

// ErrorText returns the text of an error for the user of the command: without the names of
// packages, with flags in the place of options, and with the flag or the command that helps.
// Libraries know neither.
func ErrorText(err error) string {
	text := message.Words(err, flagOf)
	if help := advice(err); help != "" {
		text += " (" + help + ")"
	}
	return text
}

// flagOf returns the flag of an option, "" if it has none.
func flagOf(option string) string {
	row := attribution.LookupOption(option)
	switch {
	case option == "pre-tokenizer":
		return "--pre"
	case row.Key != "":
		return "--set " + row.Key
	case row.Flag == "":
		return ""
	}
	return "--" + row.Flag
}

// advice returns which flag or command helps, "" if none does.
func advice(err error) string {
	cache := (*models.CacheError)(nil)
	switch {
	case errors.Is(err, gguf.ErrPreTokenizer):
		return "--pre"
	case errors.As(err, &cache):
		return "headwater download " + cache.Ref + " fetches it again"
	case errors.Is(err, xlaplugin.ErrNoSource):
		return "--from FILE"
	case errors.Is(err, xlaplugin.ErrFolder):
		return "--dir FOLDER"
	case errors.Is(err, xlaplugin.ErrUnknownHash):
		return "--sha256 HASH"
	}
	switch errorkind.Of(err) {
	case errorkind.Memory:
		return "--max-memory"
	case errorkind.DType:
		return "--dtype bfloat16"
	case errorkind.Tokenizer:
		return "headwater trace --ids"
	case errorkind.Plugin:
		return "headwater setup xla installs it"
	}
	return ""
}
