#!/usr/bin/env bash
# Measures how large the project is, to compare two commits:
#
#	internal/setup/measure.sh                   tables to read
#	internal/setup/measure.sh lines > before    lines NAME VALUE for diff
#	internal/setup/measure.sh check             fails if a package is above internal/setup/ceiling
#	internal/setup/measure.sh ceiling           writes that file
#
# The file has for each package the most lines of code without comments, blank lines and tests, the
# most exported names of a public package, and the most methods of one type. A change that needs
# more writes it again and says in its commit why; a change that shrinks a package lowers it.
#
# Without check and ceiling, it builds the command into a temporary folder and runs no test; `time
# make quick` and `time make test` give the times. Sizes of files are those of the checkout, not of
# the last commit.
set -euo pipefail
. "$(dirname "$0")/env.sh"
cd "$root"
form=${1:-table}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A file of the module: not of nested modules, and nothing that a program wrote into testdata.
git ls-files --cached --others --exclude-standard -- '*.go' |
	grep -v -e /testdata/ -e '^internal/tools/' | while read -r f; do [ ! -e "$f" ] || echo "$f"; done |
	sort >"$scratch/go"

# For each package its lines, lines of tests, comment lines without tests, functions, functions
# over 60 lines, files over 600 lines, exported names, their methods, lines of code and the most
# methods of one type. The sources are formatted, so that a
# declaration begins and ends at the margin. An exported name is a type, function, constant or
# variable at the top of a file. Methods of exported types are counted apart, fields not at all.
xargs awk '
	FNR == 1 {
		dir = FILENAME; if (!sub("/[^/]*$", "", dir)) dir = "."
		test = FILENAME ~ /_test\.go$/; group = 0; body = 0; block = 0; raw = 0
		dirs[dir]; if (long) over[previous]++; long = 0; previous = dir
	}
	FNR == 601 { long = 1 }
	{ if (test) tests[dir]++; else lines[dir]++ }
	raw { if (!test) code[dir]++; if (gsub("`", "`") % 2) raw = 0; next }
	block { if (!test) comments[dir]++; if ($0 ~ /\*\//) block = 0; next }
	/^[ \t]*\/\// { if (!test) comments[dir]++; next }
	/^[ \t]*\/\*/ { if (!test) comments[dir]++; if ($0 !~ /\*\//) block = 1; next }
	!test && NF { code[dir]++ }
	gsub("`", "`") % 2 { raw = 1 }
	/^func / { functions[dir]++; body = ($0 ~ /\{$/) ? FNR : 0 }
	/^}/ && body { if (FNR - body + 1 > 60) large[dir]++; body = 0 }
	test { next }
	match($0, /^func \(([a-z][A-Za-z0-9_]* )?\*?[A-Za-z0-9_]+/) {
		type = substr($0, RSTART, RLENGTH); sub(/.*[ *(]/, "", type)
		if (++has[dir, type] > most[dir]) most[dir] = has[dir, type]
	}
	/^func [A-Z]/ || /^(type|const|var) [A-Z]/ { names[dir]++ }
	/^func \([a-z]+ \*?[A-Z].*\) [A-Z]/ || /^func \(\*?[A-Z].*\) [A-Z]/ { methods[dir]++ }
	/^(type|const|var) \($/ { group = 1 }
	/^[})]/ { group = 0 }
	group && match($0, /^\t[A-Z][A-Za-z0-9_]*(, [A-Za-z0-9_]+)*/) {
		names[dir] += split(substr($0, RSTART, RLENGTH), several, ", ")
	}
	END {
		if (long) over[previous]++
		for (d in dirs)
			print d, lines[d]+0, tests[d]+0, comments[d]+0, functions[d]+0, large[d]+0,
				over[d]+0, names[d]+0, methods[d]+0, code[d]+0, most[d]+0
	}' <"$scratch/go" | sort >"$scratch/packages"

# A package of tests alone has no ceiling.
ceiling() {
	echo "# package, lines of code, exported names, methods of one type: the most of each"
	awk '$10 { print $1, $10, $1 ~ /(^|\/)(internal|cmd|docker)(\/|$)/ ? 0 : $8, $11 }' "$scratch/packages"
}

case $form in
ceiling)
	ceiling >internal/setup/ceiling
	exit
	;;
check)
	ceiling | awk '
		FNR == NR { known[$1]; for (i = 2; i <= 4; i++) most[$1, i] = $i; next }
		/^#/ { next }
		!($1 in known) { print "package " $1 " is new"; above = 1; next }
		{
			for (i = 2; i <= 4; i++) if ($i > most[$1, i] + 0) {
				print $1 ": " $i " " what[i] ", at most " most[$1, i]; above = 1
			}
		}
		BEGIN { what[2] = "lines of code"; what[3] = "exported names"; what[4] = "methods of one type" }
		END {
			if (above) print "make it smaller, or run internal/setup/measure.sh ceiling and say in the commit why"
			exit above
		}' internal/setup/ceiling -
	exit
	;;
esac

go build -buildvcs=false -o "$scratch/headwater" ./cmd/headwater

# flags prints the flags of a command and then those of the commands that its help lists.
flags() {
	local help sub
	help=$("$scratch/headwater" "$@" --help 2>&1)
	printf 'flags:%s %s\n' "$(printf -- '-%s' headwater "$@" | cut -c2-)" "$(
		awk '/^ +(-[a-zA-Z], )?--[a-z]/' <<<"$help" | grep -vc -- '--help' || true)"
	for sub in $(awk '/^Available Commands:|^[A-Z].*:$/ { on = /Commands/ } on && /^  [a-z]/ { print $1 }' <<<"$help"); do
		case $sub in help | completion) ;; *) flags "$@" "$sub" ;; esac
	done
}

{
	awk '{
		print "lines:" $1, $2; print "tests:" $1, $3
		if ($2) printf "comments:%s %.1f%%\n", $1, 100*$4/$2
		l += $2; t += $3; c += $4; f += $5; g += $6; o += $7
		code += $10; if ($11 > most) most = $11
		if ($1 !~ /(^|\/)(internal|cmd|docker)(\/|$)/ && $8+$9) {
			print "names:" $1, $8; n += $8; m += $9; p++
		}
	} END {
		print "lines", l; print "tests", t; printf "comments %.1f%%\n", 100*c/l
		print "functions", f; print "functions-over-60", g; print "files-over-600", o
		print "public-packages", p; print "names", n; print "methods", m
		print "code", code; print "methods-of-one-type", most
	}' "$scratch/packages"
	flags
	go mod edit -json | awk '/"Path":/ { v = 1 } /"Indirect": true/ { i++ } /"Version":/ { n++ }
		/^\t"(Exclude|Replace|Retract|Tool|Ignore)"/ { exit }
		END { print "requirements-direct", n-i; print "requirements-indirect", i }'
	for page in docs/*.md docs/*/*.md README.md CONTRIBUTING.md CHANGELOG.md; do
		[ ! -e "$page" ] || echo "words:$page $(wc -w <"$page")"
	done | awk '{ print; n += $2 } END { print "words", n }'
	echo "program-bytes $(stat -c %s "$scratch/headwater")"
} | sort >"$scratch/lines"

if [ "$form" != table ]; then
	cat "$scratch/lines"
	exit
fi
echo "package                                   lines   tests  comments  names"
awk -F '[: ]' '
	/^(lines|tests|comments|names):/ { seen[$2]; value[$1, $2] = $3 }
	END { for (p in seen) printf "%-40s %7s %7s %9s %6s\n", p, value["lines", p],
		value["tests", p], value["comments", p], value["names", p] }' "$scratch/lines" | sort
echo
grep -v -E '^(lines|tests|comments|names):' "$scratch/lines" | awk '{ printf "%-40s %12s\n", $1, $2 }'
