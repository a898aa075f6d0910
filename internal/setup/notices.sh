#!/usr/bin/env bash
# Prints the licences of everything that the program links, as they must go with a binary:
# notices.sh >NOTICES.txt
set -euo pipefail
cd "$(dirname "$0")/../.."
shopt -s nullglob nocaseglob

section() {
	printf '%s\n%s\n\n' "$1" "${1//?/=}"
	shift
	[ $# -gt 0 ] || { echo "notices: no licence of this part was found" >&2; exit 1; }
	cat "$@"
	printf '\n\n'
}

section Headwater LICENSE
section "Go, $(go env GOVERSION)" "$(go env GOROOT)"/LICENSE*
go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' \
	./cmd/headwater | sort -u | while read -r path version dir; do
	files=()
	for file in "$dir"/{licen[sc]e,copying,notice}* "$dir"/licenses/ftl.txt; do
		[ ! -f "$file" ] || files+=("$file")
	done
	section "$path $version" "${files[@]}"
done
