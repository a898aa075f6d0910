#!/usr/bin/env bash
# Installs the Python peers into .cache/peers: venv (PyTorch, transformers 5), v4 (transformers 4 and Inseq) and gguf. 900 MB to
# download, 2.7 GB there, about three minutes; a second run does nothing. Needs Python 3.11 or newer with venv, gcc and binutils.
set -euo pipefail

python=$(command -v python3) || { echo "peers: Python 3.11 or newer is needed" >&2; exit 1; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd "$here/../../.." && pwd -P)
peers=$root/.cache/peers
venv=$peers/venv
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

[ "$(uname -sm)" = "Linux x86_64" ] || { echo "peers: made for x86-64 Linux, this is $(uname -sm)" >&2; exit 1; }
for tool in gcc readelf nm; do
	command -v "$tool" >/dev/null || { echo "peers: $tool is needed (packages gcc and binutils)" >&2; exit 1; }
done

key=$({ printf '%s\n' "$root"; cat "$here/requirements.txt" "$here/requirements-v4.txt" "$here/requirements-gguf.txt" "$here/stub_cuda.py"; } | cksum)
if [ "$(cat "$peers/stamp" 2>/dev/null)" = "$key" ]; then
	exit 0
fi
echo "peers: installing into .cache/peers"
rm -rf "$peers/stamp" "$venv" "$peers/v4" "$peers/gguf"
mkdir -p "$peers"
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --no-deps --requirement "$here/requirements.txt"
"$venv/bin/python" -m pip install --quiet --no-deps --target "$peers/v4" --requirement "$here/requirements-v4.txt"
"$venv/bin/python" -m pip install --quiet --no-deps --target "$peers/gguf" --requirement "$here/requirements-gguf.txt"
"$venv/bin/python" "$here/stub_cuda.py"
"$venv/bin/python" -c 'import torch, transformers; print("peers: torch", torch.__version__, "transformers", transformers.__version__)'
PYTHONPATH=$peers/v4 "$venv/bin/python" -c 'import inseq, transformers; print("peers: inseq with transformers", transformers.__version__)'
printf '%s\n' "$key" >"$peers/stamp"
