"""Joins what run.sh found into one line of JSON: summary.py RESULTS BACKEND FAILED CHECK...

The status is 1 if a check failed, or the GPU was not used though it was asked for.
"""

import json
import pathlib
import sys

results, backend, failed = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] != "0"
found = {}
for path in sorted(results / f"{name}.json" for name in sys.argv[4:]):
    try:
        found[path.stem] = json.loads(path.read_text())
    except ValueError:
        found[path.stem] = {"error": path.with_suffix(".log").read_text()[-2000:]}
if backend == "cuda":  # what was asked for is what must have been used
    found["gpu_used"] = any(b["name"] == "cuda" and "measured" in b for b in found.get("doctor", {}).get("backends", []))
    failed |= not found["gpu_used"]
print(json.dumps({"backend": backend, "failed": failed, "results": found}))
sys.exit(failed)
