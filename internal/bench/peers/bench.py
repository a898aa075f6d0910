"""bench.py [--shape small|tiny] [--rounds N] [--inseq-rounds N] [--json FILE]: our speed beside that of PyTorch, transformers and Inseq.

Every peer is a process of its own on the same processors with the same number of threads and the same checkpoint, GPT-2 with random
weights. Rounds go through all measurements, and each measurement through all peers in an order that turns, so that whatever
slows the machine for a while slows all. The table shows medians, in milliseconds, and the ratio to the peer that is compared with.

    forward T    one pass, every attention matrix and all logits: PyTorch eager
    decode T+N   a cached greedy token after the first: generate of transformers
    rows T+N     greedy generation and the Value Zeroing row of each step, all layers: Inseq's value_zeroing, which gets the tokens
                 for nothing
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))

# layers, heads, width, vocabulary; measurements: forward lengths, and prompts with tokens to generate
SHAPES = {
    "small": ((12, 12, 768, 50257), [64, 256], [(64, 16), (128, 16)]),
    "tiny": ((2, 2, 32, 1200), [8, 16], [(8, 4), (16, 4)]),
}

# What the project wants of the ratio to the peer, at most; for rows of Inseq's time, one part in so many.
AIMS = {
    ("xla", "forward"): 0.9, ("go", "forward"): 3.0, ("xla", "decode"): 0.8,
    ("xla", "rows 64+16"): 1 / 12, ("xla", "rows 128+16"): 1 / 20,
}


class Peer:
    """A process that measures."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"bench: {self.name} ended with {self.process.wait()}")
        answer = json.loads(line)
        if answer.get("error"):
            sys.exit(f"bench: {self.name}: {request['task']}: {answer['error']}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def write_checkpoint(folder, shape):
    """A GPT-2 of random weights in half precision, like the one of internal/e2e/bench_test.go; once."""
    if os.path.exists(os.path.join(folder, "model.safetensors")):
        return
    layers, heads, width, vocabulary = shape
    code = (
        "import torch, transformers as T; torch.manual_seed(1);"
        f"c = T.GPT2Config(n_layer={layers}, n_head={heads}, n_embd={width}, vocab_size={vocabulary},"
        " bos_token_id=None, eos_token_id=None);"
        f"T.GPT2LMHeadModel(c).half().save_pretrained({folder!r})"
    )
    subprocess.run([os.path.join(HERE, "python"), "-c", code], check=True)


def prompt(tokens, vocabulary):
    """Ids that depend on the length alone."""
    draw = random.Random(tokens)
    return [draw.randrange(vocabulary) for _ in range(tokens)]


def turned(peers, by):
    by %= len(peers)
    return peers[by:] + peers[:by]


class Bench:
    def __init__(self, peers, vocabulary):
        self.peers = peers
        self.vocabulary = vocabulary
        self.samples = {}  # (measurement, peer) -> milliseconds
        self.tokens = {}  # measurement -> what transformers generated, which all should

    def measure(self, round, forwards, generations, with_inseq):
        """One round; round 0 warms up (compiles, reads weights) and is not counted."""
        ours = [p for p in self.peers if p.name in ("xla", "go")]
        torch = next(p for p in self.peers if p.name == "torch")
        inseq = next((p for p in self.peers if p.name == "inseq"), None)
        for n in forwards:
            for peer in turned([torch, *ours], round):
                self.note(round, f"forward {n}", peer, peer.ask(task="forward", ids=prompt(n, self.vocabulary))["ms"])
        for n, new in generations:
            for peer in turned([torch, *ours], round):
                answer = peer.ask(task="decode", ids=prompt(n, self.vocabulary), new=new)
                self.note(round, f"decode {n}+{new}", peer, answer["token_ms"])
                self.note(round, f"generate {n}+{new}", peer, answer["ms"])
                self.agree(f"decode {n}+{new}", peer, answer["ids"])
            for peer in turned([*ours, inseq] if inseq and with_inseq else ours, round):
                answer = peer.ask(
                    task="rows", ids=prompt(n, self.vocabulary), new=new, continuation=self.tokens[f"decode {n}+{new}"]["torch"])
                self.note(round, f"rows {n}+{new}", peer, answer["ms"])
                self.agree(f"rows {n}+{new}", peer, answer["ids"])

    def note(self, round, measurement, peer, ms):
        if round:
            self.samples.setdefault((measurement, peer.name), []).append(ms)

    def agree(self, measurement, peer, ids):
        self.tokens.setdefault(measurement, {}).setdefault(peer.name, ids)

    def table(self):
        measurements = list(dict.fromkeys(m for m, _ in self.samples))
        lines = []
        for m in measurements:
            reference = "inseq" if m.startswith("rows") else "torch"
            base = self.samples.get((m, reference))
            for name in ("torch", "inseq", "xla", "go"):
                ms = self.samples.get((m, name))
                if not ms:
                    continue
                line = {"measurement": m, "peer": name, "ms": statistics.median(ms), "low": min(ms), "high": max(ms), "runs": len(ms)}
                if base and name != reference:
                    line["ratio"] = statistics.median(ms) / statistics.median(base)
                    line["aim"] = AIMS.get((name, m)) or AIMS.get((name, m.split()[0]))
                lines.append(line)
        return lines

    def disagreements(self):
        """Peers that generated other tokens than transformers: near ties are possible in float32."""
        for m, by_peer in self.tokens.items():
            reference = self.tokens["decode " + m.split()[1]].get("torch")
            for name, ids in by_peer.items():
                if ids != reference:
                    yield f"{m}: {name} generated {ids}, torch {reference}"


def show(lines):
    print(f"{'measurement':<18}{'peer':<8}{'ms':>10}{'low':>10}{'high':>10}{'runs':>6}  ratio")
    for l in lines:
        ratio = ""
        if "ratio" in l:
            ratio = f"{l['ratio']:.3f}"
            if l["aim"]:
                ratio += f"  aim {l['aim']:.3f}: {'met' if l['ratio'] <= l['aim'] else 'MISSED'}"
            if l["measurement"].startswith("rows"):
                ratio += f"  ({1 / l['ratio']:.1f} times faster)"
        print(f"{l['measurement']:<18}{l['peer']:<8}{l['ms']:>10.2f}{l['low']:>10.2f}{l['high']:>10.2f}{l['runs']:>6}  {ratio}")


def processor():
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--shape", choices=SHAPES, default="small")
    flags.add_argument("--rounds", type=int, default=9)
    flags.add_argument("--inseq-rounds", type=int, default=3)
    flags.add_argument("--threads", type=int, default=2)
    flags.add_argument("--json", help="file for the figures")
    flags.add_argument("--bench", default=os.path.join(ROOT, ".cache", "bin", "headwater"), help="our program")
    args = flags.parse_args()
    shape, forwards, generations = SHAPES[args.shape]
    folder = os.path.join(ROOT, ".cache", "bench", f"gpt2-{args.shape}-shape")
    write_checkpoint(folder, shape)
    python, threads = os.path.join(HERE, "python"), str(args.threads)
    os.environ.update(GOMAXPROCS=threads, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads, TOKENIZERS_PARALLELISM="false")
    commands = {
        "torch": [python, os.path.join(HERE, "torch_peer.py"), folder, threads],
        "xla": [args.bench, "bench", "peer", "--model", folder, "--backend", "xla"],
        "go": [args.bench, "bench", "peer", "--model", folder, "--backend", "go"],
    }
    if args.inseq_rounds:
        commands["inseq"] = [python, "--v4", os.path.join(HERE, "inseq_peer.py"), folder, threads]
    bench = Bench([Peer(name, command) for name, command in commands.items()], shape[3])
    for round in range(args.rounds + 1):
        print(f"bench: round {round} of {args.rounds}" + ("" if round else ", to warm up"), file=sys.stderr)
        bench.measure(round, forwards, generations, with_inseq=round <= args.inseq_rounds)
    for peer in bench.peers:
        peer.close()
    layers, heads, width, vocabulary = shape
    print(f"GPT-2, {layers} layers, {heads} heads, width {width}, {vocabulary} tokens; {args.threads} threads; {processor()}")
    lines = bench.table()
    show(lines)
    for line in bench.disagreements():
        print("note:", line)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(lines, f, indent=1)


main()
