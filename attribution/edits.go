package attribution

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// notUnderEdits returns why a method is not computed under the edits of o by a model that generates
// or not, "" if it is: as are those of mixings and scorers that are, and scorers that read the
// parts of a logit from the steps of all layers.
func (o Options) notUnderEdits(m Method, generates bool) (why string) {
	if m.Scorer == "" {
		return mixingNotUnderEdits(m.Mixing)
	}
	sc, err := scorer.Lookup(m.Scorer)
	if err != nil {
		return err.Error()
	}
	live, ok := sc.(scorer.Live)
	switch {
	case sc.Info().Edits:
		return ""
	case !ok:
		return "it carries parts through the blocks in its own way, without the edits"
	case !generates || o.FirstLayer > 0 || o.LastLayer != nil:
		return "under edits, the parts of a logit are known for generated tokens over all " +
			"layers only"
	case live.Mixing() != "":
		return mixingNotUnderEdits(live.Mixing())
	}
	return ""
}

// mixingNotUnderEdits returns why rows of a mixing are not computed under edits, "" if they are.
func mixingNotUnderEdits(name string) string {
	mixing, err := LookupMixing(name)
	switch {
	case err != nil:
		return err.Error()
	case !mixing.Edits:
		return "its mixing is not known to hold in edited blocks"
	}
	return ""
}

// fitEdits returns the options with methods that are computed under their edits: of the default
// ones those that are, and a remark on the others. It returns a usage error for a method that was
// asked for and is not, and for a model that cannot be edited.
func (o Options) fitEdits(m trace.Model) (_ Options, remark string, err error) {
	if len(o.Edits) == 0 {
		return o, "", nil
	}
	row, info := LookupOption("edits"), m.Info()
	if _, ok := m.(trace.Editable); !ok {
		return o, "", row.usagef("%s; %s does not run under edits", row.describe(&o),
			message.Quote(info.Name))
	}
	all, err := o.methods(DefaultMethods(info))
	if err != nil {
		return o, "", err
	}
	can := func(m Method) bool { return o.notUnderEdits(m, !info.Reads()) == "" }
	var kept, others []string
	reason := ""
	for _, m := range all {
		if can(m) {
			kept = append(kept, m.Name)
			continue
		}
		others = append(others, m.Name)
		reason = cmp.Or(reason, o.notUnderEdits(m, !info.Reads()))
	}
	switch {
	case len(others) == 0:
	case len(o.Methods) == 0 && len(kept) > 0:
		remark = fmt.Sprintf("Left out, because the model is edited: %s.", message.List(others))
	default:
		var names []string
		for _, m := range Methods() {
			if can(m) {
				names = append(names, m.Name)
			}
		}
		return o, "", row.usagef("%s: %s is not computed in a model that is edited, because %s; "+
			"take one of %s", row.describe(&o), others[0], reason, message.List(names))
	}
	o.Methods = kept
	return o, remark, nil
}

// placeEdits makes the edits of the run count from the start of the prompt, so that they stay where
// they are when the text grows.
func (r *run) placeEdits() error {
	n := len(r.ids)
	option := LookupOption("edits")
	for i, e := range r.opts.Edits {
		for _, at := range slices.Concat(e.Positions, e.Sources) {
			if at < -n {
				return &trace.EditError{Number: i, Err: option.usagef(
					"edit of %s: %d from the end of a prompt of %s", e, -at,
					message.Count(n, "token"))}
			}
		}
	}
	if wrong := r.e.Model.CheckEdits(r.opts.Edits, r.ids); wrong != nil {
		return &trace.EditError{
			Number: wrong.Number, Err: option.usagef("%s", message.Words(wrong.Err, nil)),
		}
	}
	r.ask.Edits = trace.MoveEdits(r.opts.Edits, func(p int) int {
		if p < 0 {
			p += n
		}
		return p
	})
	r.e.Edits, r.e.Edited = r.ask.Edits, trace.EditsInWords(r.opts.Edits)
	return nil
}

// edits is a list of edits, as JSON.
func edits() value {
	return value{
		given: func(o *Options) bool { return len(o.Edits) > 0 },
		read: func(o *Options, text string) (err error) {
			o.Edits, err = trace.ParseEdits([]byte(text))
			return err
		},
		write:    func(o *Options) string { return asJSON(o.Edits) },
		describe: func(_ string, o *Options) string { return trace.EditsInWords(o.Edits) },
		wrong: func(_ string, o *Options) string {
			for _, e := range o.Edits {
				if err := e.Check(); err != nil {
					return message.Words(err, nil)
				}
			}
			return ""
		},
	}
}
