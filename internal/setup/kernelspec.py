"""Writes the Jupyter kernel of this checkout: kernelspec.py ROOT GOROOT.

The kernel is GoNB with a go.work that uses ROOT, so a notebook anywhere can import the packages of the checkout after
one line, %noautoget. It goes where JUPYTER_DATA_DIR points.
"""

import json
import os
import pathlib
import sys

root, goroot = sys.argv[1:]
if "," in root:
    sys.exit(f"setup: GoNB cannot use a folder with a comma in its name: {root}")
env = {"PATH": f"{root}/.cache/bin:{goroot}/bin:${{PATH}}"}
for name in ("GOEXPERIMENT", "GOMLX_NO_AUTO_INSTALL", "HEADWATER_XLA"):
    if name in os.environ:
        env[name] = os.environ[name]
spec = {
    "argv": [f"{root}/.cache/bin/gonb", "--kernel", "{connection_file}", "-raw_error", f"-go_work={root}"],
    "display_name": "Go (gonb)",
    "language": "go",
    "env": env,
}
folder = pathlib.Path(os.environ["JUPYTER_DATA_DIR"], "kernels", "gonb")
folder.mkdir(parents=True, exist_ok=True)
(folder / "kernel.json").write_text(json.dumps(spec, indent=1) + "\n")
