#!/bin/sh
# Installs the programs that run cells: GoNB, goimports and gopls, in the versions of
# internal/tools, or those of some modules: tools.sh MODULE...
set -eu
source=$(cd "$(dirname "$0")/.." && pwd -P)
. "$source/docker/env.sh"
mkdir -p "$root/bin"
if [ $# = 0 ]; then
	set -- internal/tools internal/tools/gopls
fi
for module; do
	(cd "$source/$module" && GOBIN="$root/bin" go install tool)
done
