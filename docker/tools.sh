#!/bin/sh
# Installs the programs that run cells: GoNB, goimports and gopls, in the versions of internal/tools.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd -P)
. "$source/docker/env.sh"
mkdir -p "$root/bin"
for module in internal/tools internal/tools/gopls; do
	(cd "$source/$module" && GOBIN="$root/bin" go install tool)
done
