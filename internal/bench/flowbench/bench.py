"""bench.py [--rounds N] [--networkx SINKS] [--json FILE]: attention flow beside SciPy and networkx, in one run on one processor.

What is computed is a row: the flow from the last token after the last layer to every token. Rounds go through all maps, and each
map through all programs, so that whatever slows the machine for a while slows all; the table shows medians over the rounds, and
the ratio is the median of each round's. Times are processor time, so that other programs do not count.

    ours      one row; all levels of it; the table for one more token
    SciPy     scipy.sparse.csgraph.maximum_flow, method dinic, capacities times 1e7 as integers, which is all it takes; the
              network is built once and not counted. Over 256 tokens every eighth sink, times eight
    networkx  maximum_flow_value as it comes, preflow-push, on float capacities: a few sinks of maps over 64 tokens, as a row; its
              dinitz ends with a KeyError on them

Both get the part of the network that can matter: tokens up to the source, and layers.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import networkx
import numpy
import scipy
import scipy.sparse
import scipy.sparse.csgraph

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
FLOWBENCH = os.path.join(ROOT, ".cache", "bin", "flowbench")
SCALE = 1e7  # capacities of SciPy are 32-bit integers
ROUNDING = 1e-3  # of capacities to 1e-7: a cut of a few thousand edges, half a unit each


class Ours:
    """The process that computes our flows."""

    def __init__(self):
        self.process = subprocess.Popen([FLOWBENCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, task, name, repeat):
        self.process.stdin.write(json.dumps({"Task": task, "Map": name, "Repeat": repeat}) + "\n")
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"bench: flowbench ended with {self.process.wait()}")
        answer = json.loads(line)
        if answer.get("error"):
            sys.exit(f"bench: flowbench: {answer['error']}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Map:
    """One network, as each program wants it."""

    def __init__(self, folder, entry):
        self.name, self.layers, self.tokens = entry["name"], entry["l"], entry["t"]
        shape = (self.layers, self.tokens, self.tokens)
        self.capacity = numpy.fromfile(os.path.join(folder, self.name + ".f64"), dtype="<f8").reshape(shape)
        self.source = self.layers * self.tokens + self.tokens - 1
        layer, target, source = numpy.nonzero(self.capacity)
        units = numpy.rint(self.capacity[layer, target, source] * SCALE).astype(numpy.int32)
        kept = units > 0
        nodes = (self.layers + 1) * self.tokens
        head, tail = (layer + 1) * self.tokens + target, layer * self.tokens + source
        self.matrix = scipy.sparse.csr_matrix((units[kept], (head[kept], tail[kept])), shape=(nodes, nodes))
        self.graph = None
        if self.tokens == 64:
            self.graph = networkx.DiGraph()
            for u, v, c in zip(head, tail, self.capacity[layer, target, source]):
                self.graph.add_edge(int(u), int(v), capacity=float(c))

    def scipy(self, sinks):
        """The milliseconds of a row, and the flows by sink."""
        flows, begin = {}, time.process_time()
        for sink in sinks:
            flows[sink] = scipy.sparse.csgraph.maximum_flow(self.matrix, self.source, sink, method="dinic").flow_value / SCALE
        return 1e3 * (time.process_time() - begin) * self.tokens / len(sinks), flows

    def networkx(self, sinks):
        """The same with networkx."""
        flows, begin = {}, time.process_time()
        for sink in sinks:
            flows[sink] = networkx.maximum_flow_value(self.graph, self.source, sink)
        return 1e3 * (time.process_time() - begin) * self.tokens / len(sinks), flows


def measure(ours, m, networkx_sinks):
    """One round of one map: milliseconds by what was measured, and the largest differences."""
    repeat = max(3, 2048 // m.tokens)
    row = ours.ask("row", m.name, repeat)
    every = 8 if m.tokens > 128 else 1
    theirs, flows = m.scipy(range(every // 2, m.tokens, every))
    again = ours.ask("row", m.name, repeat)
    found = {
        "row": (row["ms"] + again["ms"]) / 2, "scipy": theirs,
        "levels": ours.ask("levels", m.name, 3)["ms"], "extend": ours.ask("extend", m.name, 8)["ms"],
        "off_scipy": max(abs(row["flows"][j] - f) for j, f in flows.items()),
    }
    if found["off_scipy"] > ROUNDING:
        sys.exit(f"bench: {m.name}: flows differ from SciPy's by {found['off_scipy']}")
    if m.graph is not None and networkx_sinks:
        sinks = [m.tokens * (2 * k + 1) // (2 * networkx_sinks) for k in range(networkx_sinks)]
        found["networkx"], flows = m.networkx(sinks)
        found["off_networkx"] = max(abs(row["flows"][j] - f) for j, f in flows.items())
    return found


def table(maps, rounds):
    """Lines of Markdown."""
    lines = [
        "| map | row, ms | SciPy, ms | × | networkx, ms | × | all levels, ms | rows | one more token, µs |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    ratios = {}
    for m in maps:
        def median(of):
            return statistics.median(of(r[m.name]) for r in rounds)
        times = median(lambda r: r["scipy"] / r["row"])
        ratios.setdefault(m.tokens, []).append(times)
        slow = ["", ""]
        if "networkx" in rounds[0][m.name]:
            slow = [f"{median(lambda r: r['networkx']):,.0f}", f"{median(lambda r: r['networkx'] / r['row']):,.0f}"]
        lines.append(
            f"| {m.name} | {median(lambda r: r['row']):.3g} | {median(lambda r: r['scipy']):,.0f} | {times:.0f} | {slow[0]} | {slow[1]} "
            f"| {median(lambda r: r['levels']):.3g} | {median(lambda r: r['levels'] / r['row']):.1f} "
            f"| {1e3 * median(lambda r: r['extend']):.0f} |")
    for tokens, all_ratios in ratios.items():
        lines.append(f"| all over {tokens} | | | {statistics.geometric_mean(all_ratios):.0f} (geometric mean) | | | | | |")
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--networkx", type=int, default=2, help="sinks of networkx in each round")
    parser.add_argument("--json", help="write all measurements to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([FLOWBENCH, "-write", folder], check=True)
        with open(os.path.join(folder, "maps.json")) as f:
            maps = [Map(folder, entry) for entry in json.load(f)]
    ours = Ours()
    rounds = []
    for n in range(options.rounds):
        rounds.append({m.name: measure(ours, m, options.networkx) for m in maps})
        print(f"round {n + 1} of {options.rounds}", file=sys.stderr)
    ours.close()
    if options.json:
        with open(options.json, "w") as f:
            json.dump(rounds, f, indent=1)
    print(f"SciPy {scipy.__version__}, networkx {networkx.__version__}, NumPy {numpy.__version__}, median of {len(rounds)} rounds")
    print("\n".join(table(maps, rounds)))
    for key, name in [("off_scipy", "SciPy"), ("off_networkx", "networkx")]:
        found = [r[m.name][key] for r in rounds for m in maps if key in r[m.name]]
        if found:
            print(f"largest difference from {name}: {max(found):.2g}")


main()
