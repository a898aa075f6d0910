#!/bin/sh
# Succeeds if JupyterLab answers.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd -P)
. "$source/docker/env.sh"
exec python - <<'END'
import json
import os
import urllib.request

with urllib.request.urlopen(f"http://127.0.0.1:{os.environ.get('PORT', '8888')}/api", timeout=5) as answer:
    print("JupyterLab answers, server", json.load(answer)["version"])
END
