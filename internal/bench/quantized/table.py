"""table.py [SHAPE ...]: memory and time of GGUF files of published shapes, quantised as Q4_K_M, with random weights; a table in Markdown.

    internal/setup/env python3 internal/bench/quantized/table.py 0.1b 0.5b 1b 3b 8b

For each shape it writes the file (4.9 GB for 8b) into a temporary folder and runs the default explanation of 64 tokens after a prompt of 64, in a new
process whose graphs are not kept. Then headwater bench peer has the times of a prompt and of a token, plain and explained, once they are compiled.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "internal/bench/gpu"))
import gguf  # noqa: E402

TEXT = ("the quick brown fox jumps over a lazy dog " * 2)[:64]  # a letter is a token


def explain(program, model, new):
    """Seconds, and the most megabytes that were resident."""
    command = [program, "explain", "--model", model, "--backend", "xla", "--max-tokens", str(new), TEXT]
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"HEADWATER_COMPILE_CACHE": "off"})
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command} ended with {status}")
    return time.monotonic() - begin, used.ru_maxrss * 1024 / 1e6


def peer(program, model):
    """Milliseconds to the first token, and of each more: plain, and by the default methods."""
    command = [program, "bench", "peer", "--model", model, "--backend", "xla"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
    found = []
    for request in ({"task": "decode", "ids": [i * 7 % 250 + 1 for i in range(64)]}, {"task": "explain", "prompt": TEXT}):
        for _ in range(3):  # the first one compiles
            process.stdin.write(json.dumps(request | {"new": 8}) + "\n")
            answer = json.loads(process.stdout.readline())
        if answer.get("error"):
            sys.exit(answer["error"])
        found += [answer["first_ms"], answer["token_ms"]]
    process.stdin.close()
    process.wait()
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        program, model = f"{folder}/headwater", f"{folder}/model.gguf"
        subprocess.run(["go", "build", "-o", program, "./cmd/headwater"], cwd=ROOT, check=True)
        print("| shape | file | most memory | goal | 64 tokens, first time | 8 tokens, first time | prompt of 64 | a plain token | an explained one |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
        for shape in sys.argv[1:] or ["0.1b", "0.5b", "1b", "3b", "8b"]:
            gguf.write(model, shape)
            size = os.stat(model).st_size / 1e6
            seconds, megabytes = explain(program, model, 64)
            few, _ = explain(program, model, 8)
            prompt, token, _, explained = peer(program, model)
            print(f"| {shape} | {size:,.0f} MB | {megabytes:,.0f} MB | {1.15 * size + 600:,.0f} MB | {seconds:.1f} s | {few:.1f} s | {prompt:,.0f} ms"
                  f" | {token:.1f} ms | {explained:.1f} ms |", flush=True)


if __name__ == "__main__":
    main()
