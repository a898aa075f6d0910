#!/usr/bin/env bash
# Measures how large the project is, to compare two commits:
#
#	internal/setup/measure.sh                   tables to read
#	internal/setup/measure.sh lines > before    lines NAME VALUE for diff
#
# It builds the command into a temporary folder and runs no test; `time make quick` and
# `time make test` give the times. Sizes of files are those of the checkout, not of the last commit.
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
# over 60 lines, files over 600 lines and exported names. The sources are formatted, so that a
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
	raw { if (gsub("`", "`") % 2) raw = 0; next }
	block { if (!test) comments[dir]++; if ($0 ~ /\*\//) block = 0; next }
	/^[ \t]*\/\// { if (!test) comments[dir]++; next }
	/^[ \t]*\/\*/ { if (!test) comments[dir]++; if ($0 !~ /\*\//) block = 1; next }
	gsub("`", "`") % 2 { raw = 1 }
	/^func / { functions[dir]++; body = ($0 ~ /\{$/) ? FNR : 0 }
	/^}/ && body { if (FNR - body + 1 > 60) large[dir]++; body = 0 }
	test { next }
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
				over[d]+0, names[d]+0, methods[d]+0
	}' <"$scratch/go" | sort >"$scratch/packages"

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
		if ($1 !~ /(^|\/)(internal|cmd|docker)(\/|$)/ && $8+$9) {
			print "names:" $1, $8; n += $8; m += $9; p++
		}
	} END {
		print "lines", l; print "tests", t; printf "comments %.1f%%\n", 100*c/l
		print "functions", f; print "functions-over-60", g; print "files-over-600", o
		print "public-packages", p; print "names", n; print "methods", m
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
