package attribution

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// MaxIndex is the largest number of a token, a head or a layer that a command line takes: a prompt
// has at most 1 MiB of text, and no model has more heads or layers.
const MaxIndex = 1_000_000

// value is what the value of an option may be, and how it is read and written.
type value struct {
	// given is whether the value differs from the default.
	given func(o *Options) bool
	// read reads the value from text, and write writes what read reads.
	read  func(o *Options, text string) error
	write func(o *Options) string
	// wrong returns what is wrong with the value, with the option's name, "" if nothing is. It is
	// nil if every value is right.
	wrong func(name string, o *Options) string
	// describe returns the option with its value, for a message; nil is the name and what write
	// returns.
	describe func(name string, o *Options) string
	// on is the field of a switch, nil for other values.
	on func(o *Options) *bool
	// alone is the value of the key without one, "" if it needs one.
	alone string
	// limits is the end of the help: the range and the default.
	limits string
}

// want returns an error that lists the values.
func want(format string, args ...any) error { return trace.Usagef("want "+format, args...) }

// simple is a value of a field whose zero value is the default.
func simple[T comparable](field func(*Options) *T, read func(text string) (T, error)) value {
	return value{
		given: func(o *Options) bool { return *field(o) != *new(T) },
		read: func(o *Options, text string) error {
			x, err := read(text)
			if err == nil {
				*field(o) = x
			}
			return err
		},
		write: func(o *Options) string { return fmt.Sprint(*field(o)) },
	}
}

// optional is a value of a field that is nil by default. wrong returns what is wrong with a value,
// with the option's name, "" if nothing is.
func optional[T any](
	field func(*Options) **T, read func(text string) (T, error),
	wrong func(name string, x T) string,
) value {
	return value{
		given: func(o *Options) bool { return *field(o) != nil },
		read: func(o *Options, text string) error {
			x, err := read(text)
			if err == nil {
				*field(o) = &x
			}
			return err
		},
		write: func(o *Options) string {
			if x := *field(o); x != nil {
				return fmt.Sprint(*x)
			}
			return ""
		},
		wrong: func(name string, o *Options) string {
			if x := *field(o); x != nil {
				return wrong(name, *x)
			}
			return ""
		},
	}
}

// whole is a whole number from least to most. The number 0 stands for the default, which zero
// names: "16", "all".
func whole(field func(*Options) *int, least, most int, zero string) value {
	byDefault := zero
	if least == 0 {
		byDefault = "0 for " + zero
	}
	v := simple(field, wholeIn(least, most))
	v.wrong = func(name string, o *Options) string {
		return message.OutOfRange(name, *field(o), most, zero)
	}
	v.limits = fmt.Sprintf(", from %d to %d (default %s)", least, most, byDefault)
	return v
}

// wholeIn reads a whole number from least to most.
func wholeIn(least, most int) func(text string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return 0, want("a whole number from %d to %d", least, most)
		}
		return n, nil
	}
}

// index reads the number of a token, a head or a layer.
var index = wholeIn(0, MaxIndex)

// number is a number from 0 to most, or to below most if that is exclusive. zero is what 0, the
// default, stands for.
func number(field func(*Options) *float64, most float64, exclusive bool, zero string) value {
	limits, interval := fmt.Sprintf("from 0 to %.0f", most), fmt.Sprintf("[0,%.0f]", most)
	if exclusive {
		limits, interval = fmt.Sprintf("from 0 to below %.0f", most), fmt.Sprintf("[0,%.0f)", most)
	}
	inside := func(x float64) bool { return x >= 0 && (x < most || x == most && !exclusive) }
	v := simple(field, numberIn(inside, limits))
	v.wrong = func(name string, o *Options) string {
		if x := *field(o); !inside(x) {
			return fmt.Sprintf("%s %v; it must be in %s, 0 for %s", name, x, interval, zero)
		}
		return ""
	}
	v.limits = fmt.Sprintf(", %s (default 0 for %s)", limits, zero)
	return v
}

// numberIn reads a number inside limits.
func numberIn(inside func(float64) bool, limits string) func(text string) (float64, error) {
	return func(text string) (float64, error) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !inside(x) {
			return 0, want("a number %s", limits)
		}
		return x, nil
	}
}

// part is a number from 0 to 1 that has no default of its own.
func part(field func(*Options) **float64) value {
	inside := func(x float64) bool { return x >= 0 && x <= 1 }
	return optional(field, numberIn(inside, "from 0 to 1"), func(name string, x float64) string {
		return onOff(!inside(x), fmt.Sprintf("%s %v; it must be in [0,1]", name, x))
	})
}

// count is a whole number from 0 to most, with a default that is not 0.
func count(field func(*Options) **int, most, byDefault int) value {
	v := optional(field, wholeIn(0, most), func(name string, n int) string {
		return onOff(n < 0 || n > most, fmt.Sprintf("%s %d; it must be in [0,%d]", name, n, most))
	})
	v.limits = fmt.Sprintf(", from 0 to %d (default %d)", most, byDefault)
	return v
}

// seed is any number that random draws begin with.
func seed(field func(*Options) *uint64) value {
	return simple(field, func(text string) (uint64, error) {
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return 0, want("a whole number from 0 to %d", uint64(math.MaxUint64))
		}
		return n, nil
	})
}

// switched is on or off, and off by default.
func switched(field func(*Options) *bool) value {
	v := simple(field, func(text string) (bool, error) {
		on, err := message.ParseSwitch(text)
		if err != nil {
			return false, trace.Usagef("%v", err)
		}
		return on, nil
	})
	v.describe = func(name string, _ *Options) string { return trace.Called(name) }
	v.on, v.alone = field, "true"
	return v
}

// words is some text of at most 1 MiB; what describes it.
func words(field func(*Options) *string, what string) value {
	v := simple(field, func(text string) (string, error) { return text, nil })
	v.wrong = func(name string, o *Options) string {
		n := len(*field(o))
		return onOff(n > maxTextBytes, fmt.Sprintf("%s of %d bytes; %s", name, n, what))
	}
	v.describe = func(name string, _ *Options) string { return trace.Called(name, "a "+name) }
	return v
}

// someWords is words that cannot be empty on a command line.
func someWords(field func(*Options) *string, what string) value {
	v := words(field, what)
	read := v.read
	v.read = func(o *Options, text string) error {
		if text == "" {
			return want("some text")
		}
		return read(o, text)
	}
	return v
}

// messages are the messages of a conversation, and its tools if they are there too, as JSON.
func messages() value {
	return value{
		given: func(o *Options) bool { return len(o.Conversation.Messages) > 0 },
		read: func(o *Options, text string) error {
			c, err := trace.ParseConversation([]byte(text))
			if err == nil {
				err = message.WholeCharacters([]byte(text))
			}
			if err != nil {
				return trace.Usagef("%v", err)
			}
			if o.Conversation.Messages = c.Messages; c.Tools != nil {
				o.Conversation.Tools = c.Tools
			}
			return nil
		},
		write: func(o *Options) string { return asJSON(o.Conversation.Messages) },
		wrong: func(_ string, o *Options) string {
			var wrong *trace.UsageError
			if errors.As(o.Conversation.Check(), &wrong) {
				return wrong.Reason
			}
			return ""
		},
		describe: func(name string, _ *Options) string { return trace.Called(name) },
	}
}

// tools are the tools of a conversation, as JSON.
func tools() value {
	return value{
		given: func(o *Options) bool { return o.Conversation.Tools != nil },
		read: func(o *Options, text string) error {
			c := trace.Conversation{Tools: json.RawMessage(text)}
			o.Conversation.Tools = c.Tools
			return c.Check()
		},
		write:    func(o *Options) string { return string(o.Conversation.Tools) },
		describe: func(name string, _ *Options) string { return trace.Called(name) },
	}
}

// chatVariables are variables of a chat template, NAME=VALUE one at a time.
func chatVariables() value {
	return value{
		given: func(o *Options) bool { return len(o.Conversation.Variables) > 0 },
		read:  func(o *Options, text string) error { return o.Conversation.Variables.Set(text) },
		write: func(o *Options) string {
			var all []string
			for _, name := range slices.Sorted(maps.Keys(o.Conversation.Variables)) {
				all = append(all, name+"="+asJSON(o.Conversation.Variables[name]))
			}
			return strings.Join(all, " ")
		},
	}
}

// dateOf is a date. The messages check it again.
func dateOf(field func(*Options) *string) value {
	v := words(field, "")
	v.read = func(o *Options, text string) error {
		if *field(o) = text; text == "" || o.Conversation.Day().IsZero() {
			return want("a date such as 2026-11-26")
		}
		return nil
	}
	return v
}

// asJSON returns a value as JSON, "" if it has none.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// methodNames are the names of methods, joined by commas.
func methodNames() value {
	return value{
		given: func(o *Options) bool { return len(o.Methods) > 0 },
		read: func(o *Options, text string) error {
			for name := range strings.SplitSeq(text, ",") {
				all, err := LookupMethods(strings.TrimSpace(name))
				if err != nil {
					return err
				}
				for _, m := range all {
					o.Methods = append(o.Methods, m.Name)
				}
			}
			return nil
		},
		write: func(o *Options) string { return strings.Join(o.Methods, ",") },
	}
}

// headFusion is how heads are fused: mean, max, min, or the number of one. Methods need one
// matrix a layer, so the heads cannot stay apart.
func headFusion() value {
	return value{
		given: func(o *Options) bool { return o.Heads != trace.Heads{} },
		read: func(o *Options, text string) error {
			heads, err := trace.ParseHeads(text)
			if err != nil || text == "" || heads.Fusion == trace.EachHead || heads.Head > MaxIndex {
				near := message.DidYouMean(text, []string{"mean", "max", "min"})
				return trace.Usagef("%swant mean, max, min or the number of a head, from 0 to %d",
					near, MaxIndex)
			}
			o.Heads = heads
			return nil
		},
		write: func(o *Options) string { return o.Heads.String() },
		wrong: func(name string, o *Options) string {
			switch h := o.Heads; {
			case h.Fusion < trace.MeanHeads || h.Fusion > trace.OneHead:
				return fmt.Sprintf("%s %v; a method needs one matrix a layer: mean, max, "+
					"min or a head's number",
					name, h)
			case h.Fusion == trace.OneHead && h.Head < 0:
				return fmt.Sprintf("%s %d; heads count from 0", trace.Called("heads", "head"),
					h.Head)
			}
			return ""
		},
	}
}

// oneHead is the number of a head.
func oneHead() value {
	return optional(func(o *Options) **int { return &o.PerHead }, index,
		func(name string, n int) string {
			return onOff(n < 0, fmt.Sprintf("%s %d; heads count from 0", name, n))
		})
}

// layers is the first and the last layer that are combined: A:B, A:, :B or A.
func layers() value {
	return value{
		given: func(o *Options) bool { return o.FirstLayer > 0 || o.LastLayer != nil },
		read:  readLayers,
		write: func(o *Options) string {
			if o.LastLayer == nil {
				return strconv.Itoa(o.FirstLayer) + ":"
			}
			return fmt.Sprintf("%d:%d", o.FirstLayer, *o.LastLayer)
		},
		wrong: func(_ string, o *Options) string {
			switch {
			case o.FirstLayer < 0:
				return fmt.Sprintf("first layer %d; layers count from 0", o.FirstLayer)
			case o.LastLayer != nil && *o.LastLayer < o.FirstLayer:
				return fmt.Sprintf("%s %d to %d; the last one must be at least the first",
					trace.Called("layers"), o.FirstLayer, *o.LastLayer)
			}
			return ""
		},
	}
}

// readLayers reads A:B, A:, :B or A.
func readLayers(o *Options, text string) error {
	first, last, isRange := strings.Cut(text, ":")
	if !isRange {
		last = first
	}
	if first == "" && last == "" {
		return want("A:B, A:, :B or A")
	}
	from, err := index(cmp.Or(first, "0"))
	if err != nil {
		return err
	}
	o.FirstLayer, o.LastLayer = from, nil
	if last == "" {
		return nil
	}
	to, err := index(last)
	if err == nil {
		o.LastLayer = &to
	}
	return err
}

// positions are the numbers of tokens, joined by commas.
func positions() value {
	return value{
		given: func(o *Options) bool { return len(o.Positions) > 0 },
		read: func(o *Options, text string) error {
			for number := range strings.SplitSeq(text, ",") {
				n, err := index(strings.TrimSpace(number))
				if err != nil {
					return want("whole numbers from 0 to %d, joined by commas", MaxIndex)
				}
				o.Positions = append(o.Positions, n)
			}
			return nil
		},
		write: func(o *Options) string { return joined(o.Positions) },
		wrong: func(_ string, o *Options) string {
			// Each position is another token of the text, and a text has at most as many tokens as
			// bytes, a few control tokens apart.
			if n := len(o.Positions); n > maxTextBytes {
				return fmt.Sprintf("%d positions; at most %d", n, maxTextBytes)
			}
			if i := slices.IndexFunc(o.Positions, func(p int) bool { return p < 0 }); i >= 0 {
				return fmt.Sprintf("%s %d; positions count from 0",
					trace.Called("positions", "position"), o.Positions[i])
			}
			return ""
		},
		describe: func(name string, o *Options) string {
			return fmt.Sprintf("%s %v", trace.Called(name),
				o.Positions[:min(len(o.Positions), 10)])
		},
	}
}

// specialTokens is whether begin-of-text is added: on, off or auto.
func specialTokens() value {
	names := []string{"auto", "on", "off"} // by the number of the constant
	return value{
		given: func(o *Options) bool { return o.Specials != trace.SpecialsAuto },
		read: func(o *Options, text string) error {
			i := slices.Index(names, text)
			if i < 0 {
				return trace.Usagef("%s", message.KnownAre(text, []string{"on", "off", "auto"}))
			}
			o.Specials = trace.Specials(i)
			return nil
		},
		write: func(o *Options) string {
			if i := int(o.Specials); i >= 0 && i < len(names) {
				return names[i]
			}
			return strconv.Itoa(int(o.Specials))
		},
		wrong: func(name string, o *Options) string {
			if o.Specials < trace.SpecialsAuto || o.Specials > trace.SpecialsOff {
				return fmt.Sprintf("%s %d; it must be auto, on or off", name, o.Specials)
			}
			return ""
		},
	}
}

// quantity is what scorers explain. The scorers list the quantities that they know.
func quantity() value {
	return simple(func(o *Options) *trace.Quantity { return &o.Scoring.Quantity },
		func(text string) (trace.Quantity, error) {
			q, err := trace.ParseQuantity(text)
			if err != nil {
				return "", trace.Usagef("%v", err)
			}
			return q, nil
		})
}

// scoringNumber returns the value of an option that is a number of [scorer.Options].
func scoringNumber(name string) value {
	for _, n := range scorer.Numbers() {
		if n.Name == name {
			return whole(func(o *Options) *int { return n.Field(&o.Scoring) },
				1, n.Most, strconv.Itoa(n.Default))
		}
	}
	panic("attribution: there is no scoring number " + name)
}

// grouping is how tokens are grouped; wrong returns what is wrong with a text, "" if nothing is.
func grouping(field func(*Options) *string, wrong func(string) string) value {
	return texts(func(o *Options) string { return *field(o) },
		func(o *Options, text string) { *field(o) = text }, wrong)
}

// texts is a text that is got and set; wrong returns what is wrong with one, "" if nothing is.
func texts(
	get func(*Options) string, set func(*Options, string), wrong func(string) string,
) value {
	return value{
		given: func(o *Options) bool { return get(o) != "" },
		read: func(o *Options, text string) error {
			reason := wrong(text)
			if text == "" { // the default, which needs no words
				reason = cmp.Or(wrong(":"), "want some text")
			}
			if reason != "" {
				return trace.Usagef("%s", reason)
			}
			set(o, text)
			return nil
		},
		write: get,
		wrong: func(name string, o *Options) string {
			if reason := wrong(get(o)); reason != "" {
				return fmt.Sprintf("%s %s; %s", name, message.Quote(get(o)), reason)
			}
			return ""
		},
	}
}
