#!/bin/sh
# Installs the kernel, runs one cell in an empty folder, so that Go has compiled what every cell
# needs, and copies the notebooks into $NOTEBOOKS, with this kernel as theirs.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd -P)
. "$source/docker/env.sh"
"$root/bin/headwater" install --prefix "$root/jupyter"
notebooks=${NOTEBOOKS:-$HOME/notebooks}
mkdir -p "$notebooks"
"$root/jupyter/bin/python" "$source/docker/first_cell.py"
"$root/jupyter/bin/python" - "$notebooks" "$source"/notebooks/*.ipynb <<'END'
import pathlib
import sys

import nbformat

folder, *files = map(pathlib.Path, sys.argv[1:])
for file in files:
    notebook = nbformat.read(file, as_version=4)
    notebook.metadata.kernelspec = {"display_name": "Go (Headwater)", "language": "go", "name": "headwater"}
    nbformat.write(notebook, folder / file.name)
END
