package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/jsonread"
	"github.com/headwater-ml/headwater/internal/sources"
)

// Limits of a request, far above what a cell asks for. The engine refuses a request that exceeds
// one before it opens a model.
const (
	maxName  = 4096    // bytes of a model's name or a backend, as long as a path may be
	maxDType = 64      // bytes
	maxText  = 1 << 20 // bytes of a prompt or a continuation, as in package attribution
	maxIDs   = maxText // a text has at most as many tokens as bytes
)

// Check returns an error for the first invalid field: a negative number, a text or a name beyond
// its limit, an unknown tap. [attribution.Options.Check] checks the options of KindExplain.
// errors.Is finds [trace.ErrUsage] in the error. Check is the only check of what arrives on
// the socket, and a [Client] calls it before it sends anything.
func (r Request) Check() error {
	switch r.Kind {
	case KindExplain:
		if err := r.checkModel(); err != nil {
			return err
		}
		_, err := r.ExplainOptions()
		return err
	case KindTrace:
		if err := r.checkModel(); err != nil {
			return err
		}
		return r.checkTrace()
	case KindSources:
		if err := r.checkModel(); err != nil {
			return err
		}
		_, err := r.Ask()
		return err
	case KindSave, KindPicture, KindPart:
		if err := r.checkModel(); err != nil {
			return err
		}
		return r.checkPicture()
	case KindFigures:
		if err := r.checkModel(); err != nil {
			return err
		}
		return r.checkFigures()
	case KindDraw:
		if len(r.File) > maxName {
			return usagef("file name of %d bytes; at most %d", len(r.File), maxName)
		}
		return nil // the picture is checked where it is drawn
	case KindLast, KindInfo, KindStop:
		return nil // no other field is used
	}
	return usagef("the engine does not know the request %.40q", string(r.Kind))
}

// checkPicture checks what says where a picture is. The format and what a file shows are checked
// where they are known.
func (r Request) checkPicture() error {
	if len(r.File) > maxName || len(r.Upload) > maxName {
		return usagef("file name of %d and upload of %d bytes; at most %d", len(r.File),
			len(r.Upload), maxName)
	}
	if len(r.Picture) == 0 && (r.Kind != KindSave || r.Upload != "") {
		return usagef("the request %s has no picture", r.Kind)
	}
	if r.Kind == KindPart && r.Upload == "" {
		return usagef("a part of a picture does not say of which")
	}
	return nil
}

// checkModel checks the model and the text.
func (r Request) checkModel() error {
	for _, f := range []struct {
		what  string
		bytes int
		most  int
	}{
		{"model name", len(r.Model.Name), maxName},
		{"model name as written", len(r.Name), maxName},
		{"backend name", len(r.Model.Backend), maxName},
		{"name of a data type", len(r.Model.DType), maxDType},
		{"prompt", len(r.Text), maxText},
		{"continuation", len(r.Continuation), maxText},
	} {
		if f.bytes > f.most {
			return usagef("%s of %d bytes; at most %d", f.what, f.bytes, f.most)
		}
	}
	if !utf8.ValidString(r.Model.Name) { // JSON would change it
		return usagef("model name %q is not UTF-8", r.Model.Name)
	}
	if r.Model.MaxMemory < 0 {
		return usagef("max memory %d bytes; it must be positive, "+
			"or 0 for what the machine has left", r.Model.MaxMemory)
	}
	return nil
}

// checkFigures checks the names of figures.
func (r Request) checkFigures() error {
	const most = 1000
	if len(r.Figures) > most {
		return usagef("%d names of figures; at most %d", len(r.Figures), most)
	}
	for _, name := range r.Figures {
		if len(name) > maxName {
			return usagef("name of a figure of %d bytes; at most %d", len(name), maxName)
		}
	}
	return nil
}

// checkTrace checks the fields that only KindTrace uses.
func (r Request) checkTrace() error {
	if len(r.IDs) > maxIDs {
		return usagef("%d token ids; at most %d", len(r.IDs), maxIDs)
	}
	for i, id := range r.IDs {
		if id < 0 {
			return usagef("token id %d at index %d; ids count from 0", id, i)
		}
	}
	if r.Specials < trace.SpecialsAuto || r.Specials > trace.SpecialsOff {
		return usagef("specials %d; it must be auto, on or off", r.Specials)
	}
	known := trace.Taps()
	if len(r.Taps) > len(known) {
		return usagef("%d taps; there are %d, and each is recorded once", len(r.Taps), len(known))
	}
	for _, tap := range r.Taps {
		if !slices.Contains(known, tap) {
			return usagef("unknown tap %.60q; known are %v", string(tap), known)
		}
	}
	return nil
}

// ExplainOptions returns the options of KindExplain, with the continuation. The error is that of
// [attribution.Options.Check], or names the option that cannot be read.
func (r Request) ExplainOptions() (attribution.Options, error) {
	var o attribution.Options
	if err := jsonread.Into(r.Options, &o); err != nil {
		return attribution.Options{}, unreadable(err, len(r.Options))
	}
	o.Continuation = string(r.Continuation)
	if err := o.Check(); err != nil {
		return attribution.Options{}, err
	}
	return o, nil
}

// Ask returns the question of KindSources. The error is that of [sources.Ask.Check], or names what
// is too long or cannot be read.
func (r Request) Ask() (sources.Ask, error) {
	var a sources.Ask
	if err := jsonread.Into(r.Options, &a); err != nil {
		return sources.Ask{}, unreadable(err, len(r.Options))
	}
	size := len(a.Question) + len(a.Answer) + len(a.Target) + len(a.Template) + len(a.From) +
		len(a.To)
	for _, text := range slices.Concat(a.Documents, a.Names) {
		size += len(text)
	}
	if size > maxText {
		return sources.Ask{}, usagef("documents and question of %d bytes; at most %d", size,
			maxText)
	}
	if err := a.Check(); err != nil {
		return sources.Ask{}, err
	}
	return a, nil
}

// unreadable returns the error of options that cannot be read.
func unreadable(err error, size int) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		if kind.Field == "" {
			return usagef("the options are of JSON type %.60s; want an object", kind.Value)
		}
		return usagef("option %.60q cannot be a %.60s", kind.Field, kind.Value)
	}
	if key := jsonread.UnknownKey(""); errors.As(err, &key) {
		return usagef("the engine knows no option %.60s: it is not of the same version, "+
			"restart the kernel", string(key))
	}
	return usagef("the options, %d bytes, cannot be read as JSON", size)
}

// usagef returns a [trace.UsageError] of this package with a formatted reason.
func usagef(format string, args ...any) error {
	return &trace.UsageError{Package: "engine", Reason: fmt.Sprintf(format, args...)}
}
