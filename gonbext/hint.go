package gonbext

import (
	"errors"
	"fmt"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/engine"
)

// hint adds to an error about a method that this program knows and the engine does not how the engine can get to know it.
func (o Options) hint(err error) error {
	if !errors.Is(err, attribution.ErrUsage) || !strings.HasPrefix(err.Error(), "attribution: unknown ") || engine.IsOwn() {
		return err
	}
	for _, name := range o.Methods {
		if _, unknown := attribution.LookupMethod(name); unknown != nil {
			return err
		}
	}
	return fmt.Errorf("%w: this program knows it and the engine does not, so import gonbext/local, which makes this program the engine", err)
}
