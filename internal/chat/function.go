package chat

import (
	"fmt"
	"strings"
	"time"
)

// functions are the functions that a template may call, by name.
var functions = map[string]callable{
	"raise_exception": func(r *run, a arguments) value {
		message := r.str(r.given(a.bind(r, "raise_exception", "message")[0]))
		panic(failure{fmt.Errorf("%w: %s", ErrRefused, message)})
	},
	"range":     rangeOf,
	"namespace": func(r *run, a arguments) value { return &namespace{dictOf(r, a)} },
	"dict":      func(r *run, a arguments) value { return dictOf(r, a) },
}

// maxRange is how many numbers a range may have, as in Jinja2's sandbox.
const maxRange = 100_000

// rangeOf is Python's range, as a list.
func rangeOf(r *run, a arguments) value {
	bounds := [3]int64{0, 0, 1}
	switch n := len(a.positional); n {
	case 1:
		bounds[1] = r.int(a.positional[0])
	case 2, 3:
		for i, v := range a.positional {
			bounds[i] = r.int(v)
		}
	default:
		r.fail("range takes 1 to 3 arguments, got %d", n)
	}
	from, to, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		r.fail("range() arg 3 must not be zero")
	}
	var numbers []value
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		if len(numbers) == maxRange {
			r.fail("%w: a range of more than %d numbers", ErrLimit, maxRange)
		}
		numbers = append(numbers, i)
		if step > 0 && i > to-step || step < 0 && i < to-step {
			break
		}
	}
	return r.list(numbers)
}

// dictOf is Python's dict, as in dict(other, a=1).
func dictOf(r *run, a arguments) *dict {
	d := newDict()
	if len(a.positional) > 1 {
		r.fail("dict takes at most 1 argument without a name, got %d", len(a.positional))
	}
	for _, v := range a.positional {
		other, ok := v.(*dict)
		if !ok {
			r.fail("dict needs a dict, got '%s'", kindOf(v))
		}
		for _, k := range other.keys {
			item, _ := other.get(k)
			d.set(k, item)
		}
	}
	for i, name := range a.names {
		d.set(name, a.named[i])
	}
	r.alloc(64 * len(d.keys))
	return d
}

// strftimeNow returns a function that formats a given date by the directives of C's strftime.
func strftimeNow(date time.Time) func(*run, arguments) value {
	layouts := map[byte]string{
		'd': "02", 'b': "Jan", 'B': "January", 'm': "01", 'y': "06", 'Y': "2006", 'H': "15",
		'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'a': "Mon", 'A': "Monday", 'j': "002",
		'F': "2006-01-02", 'T': "15:04:05", 'e': "_2",
	}
	return func(r *run, a arguments) value {
		format := r.string(a.bind(r, "strftime_now", "format")[0])
		if date.IsZero() {
			panic(failure{ErrNoDate})
		}
		var b strings.Builder
		for i := 0; i < len(format); i++ {
			if format[i] != '%' {
				b.WriteByte(format[i])
				continue
			}
			i++
			if i == len(format) {
				r.fail("strftime_now: the format ends with %%")
			}
			layout, ok := layouts[format[i]]
			if !ok && format[i] != '%' {
				r.fail(
					"strftime_now: directive %%%c is unknown; known are %s",
					format[i],
					directives(layouts),
				)
			}
			if format[i] == '%' {
				b.WriteByte('%')
				continue
			}
			b.WriteString(date.Format(layout))
		}
		return r.text(b.String())
	}
}

// directives lists the directives that strftime_now knows.
func directives(layouts map[byte]string) string {
	names := map[string]bool{"%%": true}
	for c := range layouts {
		names["%"+string(c)] = true
	}
	return known(names)
}
