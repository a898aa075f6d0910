#!/bin/sh
# Installs JupyterLab and all that it needs, each in the version of internal/setup/requirements.txt.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd -P)
. "$source/docker/env.sh"
python3 -m venv "$root/jupyter"
"$root/jupyter/bin/python" -m pip install --quiet --requirement "$source/internal/setup/requirements.txt"
