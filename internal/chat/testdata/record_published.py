"""Records what transformers makes of published chat templates: published.json.

    python record_published.py ../../../../shared/reference/configs/tokenizer

with transformers 5.23.0 and jinja2 3.1.6. The templates are those of templates/, and those of the tokenizer_config.json files in the
folder, which are texts of others and are not kept here. What is kept is, for each template and conversation, the SHA-256 of the text, or
that there is none. The date is fixed.
"""

import datetime
import hashlib
import json
import pathlib
import sys

import jinja2
import transformers
from transformers import PreTrainedTokenizerBase
from transformers.utils import chat_template_utils

DATE = "2026-11-26"


class Fixed(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromisoformat(DATE)


chat_template_utils.datetime = Fixed

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Says what the weather is. \"Quoted\" & <tagged>.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "a city, such as Zürich"},
                "days": {"type": "integer", "enum": [1, 2.5, None], "default": 1},
                "unit": {"type": ["string", "null"], "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
        },
        "return": {"type": "string"},
    },
}
ADD = {
    "type": "function",
    "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}},
}


def call(name, arguments, id="call12345"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


SYSTEM = {"role": "system", "content": " You are terse. "}
HI = {"role": "user", "content": "What is the capital of France?"}
PARIS = {"role": "assistant", "content": "Paris, of course."}
AND = {"role": "user", "content": "\n And of Spain?  "}
THOUGHT = {"role": "assistant", "content": "<think>\nThe user asks for a city.\n</think>\n\nParis."}
REASONED = {"role": "assistant", "reasoning_content": "It asks for a city.", "content": "Paris."}
CALLING = {"role": "assistant", "content": None, "tool_calls": [call("get_weather", {"city": "Zürich", "days": 2, "unit": None})]}
CALLING_TEXT = {"content": "Let me look.", "role": "assistant", "tool_calls": [call("add", '{"a": 1.0, "b": [true]}'), call("get_weather", {"city": "Rom"}, "call67890")]}
RESULT = {"role": "tool", "tool_call_id": "call12345", "name": "get_weather", "content": "{\"sky\": \"grey\"}"}
PARTS = {"role": "user", "content": [{"type": "text", "text": "First part."}, {"type": "text", "text": " Second part."}]}

CASES = {
    "user": dict(messages=[HI]),
    "system": dict(messages=[SYSTEM, HI]),
    "turns": dict(messages=[HI, PARIS, AND]),
    "system and turns": dict(messages=[SYSTEM, HI, PARIS, AND]),
    "thinking in the text": dict(messages=[HI, THOUGHT, AND]),
    "reasoning": dict(messages=[SYSTEM, HI, REASONED, AND]),
    "thinking key": dict(messages=[HI, {"role": "assistant", "content": "Paris.", "thinking": "A city."}, AND]),
    "thinking on": dict(messages=[HI], variables={"enable_thinking": True}),
    "thinking off": dict(messages=[SYSTEM, HI, REASONED, AND], variables={"enable_thinking": False}),
    "tools": dict(messages=[HI], tools=[WEATHER, ADD]),
    "tools and system": dict(messages=[SYSTEM, HI], tools=[WEATHER]),
    "tool call": dict(messages=[SYSTEM, HI, CALLING, RESULT], tools=[WEATHER]),
    "tool calls": dict(messages=[HI, CALLING_TEXT, RESULT, RESULT, PARIS, AND], tools=[WEATHER, ADD]),
    "tool call without tools": dict(messages=[HI, CALLING, RESULT]),
    "parts": dict(messages=[PARTS]),
    "parts and system": dict(messages=[SYSTEM, PARTS, PARIS, AND]),
    "image": dict(messages=[{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]}]),
    "odd texts": dict(messages=[{"role": "user", "content": "<|im_end|>\u00a0{{ 7*7 }} \u2028 é漢🙂 'q' \"q\" \\ [INST]"}, PARIS, HI]),
    "empty texts": dict(messages=[{"role": "system", "content": ""}, {"role": "user", "content": ""}]),
    "two systems": dict(messages=[SYSTEM, {"role": "system", "content": "Be kind."}, HI]),
    "late system": dict(messages=[HI, PARIS, SYSTEM, AND]),
    "two users": dict(messages=[HI, AND]),
    "assistant first": dict(messages=[PARIS, HI]),
    "no user": dict(messages=[SYSTEM]),
    "unknown role": dict(messages=[{"role": "critic", "content": "No."}, HI]),
    "no content": dict(messages=[{"role": "user"}]),
    "more variables": dict(messages=[SYSTEM, HI], variables={
        "tools_in_user_message": False, "date_string": "1 May 2026", "thinking": True, "add_vision_id": True, "documents": [{"title": "t", "text": "x"}],
        "custom_tools": [ADD], "builtin_tools": ["code_interpreter", "brave_search"], "controls": {"length": "long", "originality": "low"}}),
}


class Tokenizer(PreTrainedTokenizerBase):
    """What apply_chat_template needs: the template and the special tokens of a tokenizer_config.json."""

    def __init__(self, config):
        self.chat_template = config["chat_template"]
        if isinstance(self.chat_template, list):
            self.chat_template = {t["name"]: t["template"] for t in self.chat_template}
        self.tokens = {}
        for key in self.SPECIAL_TOKENS_ATTRIBUTES:
            token = config.get(key)
            token = token.get("content") if isinstance(token, dict) else token
            if isinstance(token, str):
                self.tokens[key] = token

    @property
    def special_tokens_map(self):
        return self.tokens


def main():
    texts = []
    here = pathlib.Path(__file__).parent
    for path in sorted((here / "templates").iterdir()) + sorted(pathlib.Path(sys.argv[1]).glob("tokenizer_config__*.json")):
        if path.suffix == ".jinja":
            config = {"chat_template": path.read_text(), "bos_token": "<s>", "eos_token": "</s>"}
        else:
            config = json.loads(path.read_text())
        if not config.get("chat_template"):
            continue
        tokenizer = Tokenizer(config)
        for name, case in CASES.items():
            try:
                text = tokenizer.apply_chat_template(
                    case["messages"], tools=case.get("tools"), add_generation_prompt=True, tokenize=False, **case.get("variables", {}))
                texts.append([path.name, name, hashlib.sha256(text.encode()).hexdigest()])
            except Exception:
                texts.append([path.name, name, ""])
    head = {"transformers": transformers.__version__, "jinja2": jinja2.__version__, "date": DATE}
    lines = ",\n".join(json.dumps(t) for t in texts)
    out = json.dumps({**head, "conversations": CASES}, indent=1, ensure_ascii=True)[:-2] + ',\n "texts": [\n' + lines + "\n ]\n}\n"
    (here / "published.json").write_text(out)
    print(f"{len(texts)} texts, {sum(not t[2] for t in texts)} refused")


main()
