"""torch_peer.py MODEL THREADS: PyTorch's side of bench.py; see cmd/headwater/bench/peer.go for what is asked and answered.

forward is transformers' eager attention, the only one that returns its matrices; decode is generate with its default attention
(sdpa) and cache.
"""

import sys
import time

import peer
import torch
import transformers


class Clock(transformers.StoppingCriteria):
    """Notes when each token is there, and never stops."""

    def __init__(self):
        self.times = []

    def __call__(self, input_ids, scores, **kwargs):
        self.times.append(time.perf_counter())
        return torch.zeros(input_ids.shape[0], dtype=torch.bool)


def main():
    folder, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    transformers.utils.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def forward(request):
        model.set_attn_implementation("eager")
        ids = torch.tensor([request["ids"]])
        begin = time.perf_counter()
        out = model(input_ids=ids, output_attentions=True, use_cache=False)
        seconds = time.perf_counter() - begin
        assert len(out.attentions) == model.config.num_hidden_layers and out.logits.shape[1] == ids.shape[1]
        return {"ms": 1e3 * seconds}

    def decode(request):
        model.set_attn_implementation("sdpa")
        ids, new, clock = torch.tensor([request["ids"]]), request["new"], Clock()
        begin = time.perf_counter()
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=new, min_new_tokens=new, pad_token_id=0,
            stopping_criteria=[clock])
        seconds = time.perf_counter() - begin
        return {"ms": 1e3 * seconds, "token_ms": peer.median_step(clock.times), "ids": out[0, ids.shape[1]:].tolist()}

    with torch.inference_mode():
        peer.serve({"forward": forward, "decode": decode})


main()
