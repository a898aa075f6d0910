// Package host moves numbers between the memory of the host and a backend, and rounds sizes up to
// few, so that few graphs are compiled.
package host

import "github.com/headwater-ml/headwater/internal/message"

// pkg is the name that errors begin with.
const pkg = message.Package("transformer")
