"""inseq_peer.py MODEL THREADS: Inseq's side of bench.py, with transformers 4 (internal/bench/peers/python --v4).

rows is Inseq's value_zeroing for the tokens that the request brings as "continuation": attribution alone, without the
generation that our rows include. Inseq takes text and makes ids of it again, so it gets a tokenizer whose words are the ids.
"""

import sys
import time

import inseq
import peer
import tokenizers
import torch
import transformers

# What Inseq 0.7.1 does not find in GPT-2 by itself.
GPT2 = {"self_attention_module": "attn", "value_vector": "value_states"}


def word_tokenizer(vocabulary):
    """One word for each id, so that text and ids say the same."""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{i}": i for i in range(vocabulary)}, unk_token="w0"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    last = f"w{vocabulary - 1}"
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="w0", pad_token="w0", eos_token=last, bos_token=last)


def text(ids):
    return " ".join(f"w{i}" for i in ids)


def main():
    folder, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float32, attn_implementation="eager")
    model.config.bos_token_id = model.config.eos_token_id = model.config.vocab_size - 1  # Inseq wants some
    inseq.register_model_config("GPT2LMHeadModel", GPT2, overwrite=True, allow_partial=True)
    attribution = inseq.load_model(model.eval(), "value_zeroing", tokenizer=word_tokenizer(model.config.vocab_size), device="cpu")

    def rows(request):
        ids, continuation = request["ids"], request["continuation"]
        begin = time.perf_counter()
        out = attribution.attribute(text(ids), text(ids + continuation), show_progress=False)
        seconds = time.perf_counter() - begin
        result = out.sequence_attributions[0]
        got = [t.id for t in result.target]
        if got != ids + continuation:
            raise ValueError("Inseq explained other tokens than it was given")
        return {"ms": 1e3 * seconds, "ids": continuation}

    peer.serve({"rows": rows})


main()
