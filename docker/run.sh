#!/bin/sh
# Runs a command in the environment of the image.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd -P)
. "$source/docker/env.sh"
exec "$@"
