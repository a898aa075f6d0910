package checkpoint

import (
	"io"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// replaceFile lets write fill a file that appears at path when it is complete. After an error path
// is unchanged.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return pkg.Errorf("%s cannot be written: %w", path, err)
	}
	defer f.Abandon()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return pkg.Errorf("%s cannot be written: %w", path, err)
	}
	return nil
}
