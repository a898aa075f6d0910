#!/usr/bin/env python3
"""What whole commands with SmolLM2 take, from their start to their end.

    make build smollm2 && internal/setup/env python internal/bench/cold/cold.py [--rounds 3] [--backend xla]

Each round has a new home folder, so that its first run compiles all graphs, and the second one loads
what the first one kept. Prints the least, the median and the highest time and the most memory. The
goals are those of docs/benchmarks.md, "A real language model, cold".
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))

FACT = "The Eiffel Tower is in Paris. The Colosseum is in"
STORY = "Once upon a time, in a small village near the mountains, there lived an old"
SENTENCES = (
    "The river runs through the old town and the people walk along its banks in the evening. "
    "A merchant from the north brought cloth and salt, and he told stories about the sea. "
)
LONG = (SENTENCES * 40)[:4180] + " The capital of France is"  # about 1,000 tokens

CASES = [
    ("first token", FACT, 1, "3 s"),
    ("64 tokens", STORY, 64, "6 s, 846 MB"),
    ("1,000 prompt tokens and 8 more", LONG, 8, "15 s, 1,500 MB"),
]


def run(home, backend, prompt, tokens):
    """Returns the seconds and the MB of one command."""
    env = {**os.environ, "HOME": home}
    env.pop("HEADWATER_COMPILE_CACHE", None)  # the home's own
    env.setdefault("HEADWATER_MODELS", os.path.join(ROOT, ".cache", "models"))
    command = [os.path.join(ROOT, ".cache", "bin", "headwater"), "explain", "--model", "smollm2",
               "--backend", backend, "--max-tokens", str(tokens), prompt]
    begin = time.monotonic()
    p = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = p.stderr.read().decode()
    _, status, usage = os.wait4(p.pid, 0)
    seconds = time.monotonic() - begin
    if status != 0:
        sys.exit(f"cold: {' '.join(command[:-1])}: status {status}\n{said}")
    return seconds, usage.ru_maxrss / 1e3 * 1.024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backend", default="xla")
    args = parser.parse_args()
    print(f"| what | the first time | later | goal |\n|---|---|---|---|")
    for name, prompt, tokens, goal in CASES:
        cells = []
        first, later = [], []
        for _ in range(args.rounds):
            with tempfile.TemporaryDirectory() as home:
                first.append(run(home, args.backend, prompt, tokens))
                later.append(run(home, args.backend, prompt, tokens))
        for runs in (first, later):
            seconds = sorted(s for s, _ in runs)
            cells.append(f"{statistics.median(seconds):.2f} s ({seconds[0]:.2f} to "
                         f"{seconds[-1]:.2f}), {max(mb for _, mb in runs):,.0f} MB")
        print(f"| {name} | {cells[0]} | {cells[1]} | {goal} |", flush=True)


if __name__ == "__main__":
    main()
