"""Times cells in a real kernel and counts the bytes that a notebook saves:
cells.py FOLDER REPEATS MODEL...

Prints Markdown tables with medians, from the moment a cell is sent until the kernel is idle. The
views are timed with each MODEL.
"""

import json
import os
import statistics
import subprocess
import sys
import time

from jupyter_client.manager import start_new_kernel

SECONDS = 600  # a cell may take on a machine that does other things
IMPORT = 'import "github.com/headwater-ml/headwater/gonbext"\n'
WORDS = ["keys", "cabinets", "students", "teachers", "houses", "dogs", "roads", "letters", "books"]

# The cells of each view: the first one is about a prompt, the second one about what that explained.
VIEWS = {
    "text and matrix": ["gonbext.Explain(%s, gonbext.Options{MaxTokens: 5})"],
    "text and matrix of 3 methods": [
        'gonbext.Explain(%s, gonbext.Options{MaxTokens: 5, Methods: []string{"raw", "rollout", "norms"}})'],
    "layers of 5 tokens": ["gonbext.Explain(%s, gonbext.Options{MaxTokens: 5, AllLayers: true})",
                           "gonbext.Layers(gonbext.Last())"],
    "heads": ["gonbext.Heads(%s, gonbext.Options{MaxTokens: 5})"],
    "maps": ["gonbext.Maps(%s, gonbext.Options{MaxTokens: 5})"],
    "flow graph": ["gonbext.FlowGraph(%s, gonbext.Options{MaxTokens: 5})"],
    "two methods compared": [
        'gonbext.Explain(%s, gonbext.Options{MaxTokens: 5, Methods: []string{"raw", "rollout"}})',
        "gonbext.Compare(gonbext.Last(), gonbext.Last())"],
}


def explain(prompt, tokens):
    return f"%%\ngonbext.Explain({json.dumps(prompt)}, gonbext.Options{{MaxTokens: {tokens}}})"


def main():
    folder, repeats, models = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start", file=sys.stderr)
    session(folder, lambda _, run: run(IMPORT + explain("the keys to the cabinet", 5)))  # builds what is not compiled
    # A cold kernel: it starts, then the first cell builds and starts the engine.
    cold = [session(folder, lambda began, run: (run(IMPORT + explain("the keys to the cabinet", 5)), time.time() - began)[1])
            for _ in range(3)]
    rows = session(folder, lambda _, run: measure(run, repeats))
    print("| cell | median | range |\n|---|--:|--:|")
    for name, times in [("a new prompt, 5 tokens", rows["new"]), ("the same cell again", rows["same"]),
                        ("a cold kernel, until its first picture", cold)]:
        print(f"| {name} | {statistics.median(times):.2f} s | {min(times):.2f} to {max(times):.2f} s |")
    print("\n| saved output of 512 prompt × 64 generated tokens, 3 methods | bytes |\n|---|--:|")
    for name, size in rows["bytes"]:
        print(f"| {name} | {size:,} |")
    for model in models:
        print(f"\n| view with {model} | median | range | bytes |\n|---|--:|--:|--:|")
        for name, (times, size) in session(folder, lambda _, run: views(run, repeats, model)).items():
            print(f"| {name} | {statistics.median(times):.2f} s | {min(times):.2f} to {max(times):.2f} s | {size:,} |")
    print(f"load {os.getloadavg()[0]:.1f} at the end", file=sys.stderr)


def session(folder, use):
    """Starts a kernel and calls use with the time before that and a function that runs a cell."""
    began = time.time()
    manager, client = start_new_kernel(startup_timeout=SECONDS, kernel_name="headwater", cwd=folder,
                                       stderr=subprocess.DEVNULL)
    try:
        return use(began, lambda source: run(client, source))
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


def measure(run, repeats):
    run(IMPORT + explain("the keys to the cabinet", 5))
    times = {"new": [], "same": []}
    for i in range(repeats):
        cell = explain(new(i), 5)
        for kind in times:
            began = time.time()
            run(cell)
            times[kind].append(time.time() - began)
    # The model of a toy grammar ends sentences early, so the 64 tokens are given.
    prompt, continuation = words(512), " " + words(64)
    big = (f"%%\ngonbext.Explain({json.dumps(prompt)}, gonbext.Options{{Continuation: {json.dumps(continuation)}, "
           'Methods: []string{"raw", "rollout", "norms"}})')
    outputs = run(big)
    sizes = {}
    for data in outputs.values():
        for mime, text in data.items():
            sizes[mime] = sizes.get(mime, 0) + len(text.encode())
    return times | {"bytes": sorted(sizes.items()) + [("all, as JSON", saved(outputs))]}


def views(run, repeats, model):
    """Times the last cell of each view for prompts that are new, and counts the bytes of its last picture."""
    run(IMPORT + explain(new(0), 5))
    rows = {}
    for name, cells in VIEWS.items():
        times = []
        for i in range(repeats + 1):
            for cell in cells:
                began = time.time()
                outputs = run("%%\n" + cell.replace("%s", f"{json.dumps(new(i))}, gonbext.Model{{Name: {json.dumps(model)}}}"))
            times.append(time.time() - began)
        rows[name] = times[1:], saved(outputs)  # the first one opens the model and compiles
    return rows


def new(i):
    """The i-th prompt of the toy grammar, each a different one."""
    return f"the {WORDS[i % len(WORDS)]} to the {WORDS[i // len(WORDS)]}"


def saved(outputs):
    """The bytes of outputs in a notebook."""
    return len(json.dumps(list(outputs.values())).encode())


def words(n):
    """A text of n words of the toy grammar, each one token."""
    return " ".join((["the", "keys", "to", "the", "cabinet", "are", "here", "."] * n)[:n])


def run(client, source):
    """Runs a cell and returns what a notebook saves: what each display showed last."""
    request = client.execute(source)
    shown = {}
    while True:
        message = client.get_iopub_msg(timeout=SECONDS)
        if message["parent_header"].get("msg_id") != request:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "status" and content["execution_state"] == "idle":
            if not any("text/plain" in data for data in shown.values()):
                raise SystemExit(f"a cell shows no picture: {source}")
            return shown
        if kind == "error" or kind == "stream" and content["name"] == "stderr":
            raise SystemExit(f"a cell failed: {content}")
        if kind in ("display_data", "update_display_data"):
            data = content["data"]
            shown[content.get("transient", {}).get("display_id") or len(shown)] = data


main()
