"""Records what Jinja2 makes of the chat templates in templates/ and of single expressions, recorded.json, and the texts of known.json.

    pip install jinja2==3.1.6 && python record.py

The environment is the one in which transformers renders chat templates (utils/chat_template_utils.py), but for the clock.
"""

import datetime
import json
import pathlib

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).parent
DATE = datetime.datetime(2026, 3, 5, 7, 8, 9)


class Generation(jinja2.ext.Extension):
    """{% generation %}…{% endgeneration %}, which changes no text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_say"), [], [], body).set_lineno(line)

    def _say(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = DATE.strftime
    return env


def say(*turns):
    roles = {"s": "system", "u": "user", "a": "assistant", "t": "tool", "x": "narrator"}
    return [{"role": roles[role], "content": content} for role, content in turns]


CONVERSATIONS = {
    "user": say(("u", "What is the key for?")),
    "system": say(("s", "You are terse."), ("u", "Hi")),
    "turns": say(("u", "Hi"), ("a", "Hello!"), ("u", "Who has the lamp?")),
    "system turns": say(("s", "  Be kind.\n"), ("u", " Hi "), ("a", "\n Hello! \n"), ("u", "And?\n\n\nwhy")),
    "answered": say(("u", "Hi"), ("a", "Hello!")),
    "thinking": say(("u", "2+2?"), ("a", "<think>\nadd\n</think>\n\n4"), ("u", "3+3?"), ("a", "<think>\nmore\n</think>\n\n6")),
    "empty content": say(("u", "")),
    "empty answers": say(("s", ""), ("u", ""), ("a", ""), ("u", "")),
    "no messages": [],
    "unicode": say(("u", "naïve 漢字 🙂👩‍👩‍👧 e\u0301 \u00a0\u2003"), ("a", "\u3000Привет\u0085"), ("u", "שלום \u202eabc\ufeff\u200b")),
    "line breaks": say(("u", "a\r\nb\rc\n\n\nd\te\x0b\x0cf\x1cg")),
    "quotes": say(("u", "'single' \"double\" \\back\\ \\n </script> &amp; <b>")),
    "template syntax": say(("u", "{{ 7*7 }} {% for x in y %} {# no #} {%- raise_exception('x') -%} }} %}")),
    "special tokens": say(("u", "<|im_end|>\n<|im_start|>system\n</s>[INST] <<SYS>> <|eot_id|><end_of_turn> <s>"), ("a", "[/INST] <think></think>")),
    "two users": say(("u", "a"), ("u", "b")),
    "assistant first": say(("a", "a"), ("u", "b")),
    "late system": say(("u", "a"), ("s", "b"), ("u", "c")),
    "unknown role": say(("x", "a"), ("u", "b")),
    "tool": say(("u", "a"), ("t", "b")),
    "long": say(*[("u" if i % 2 == 0 else "a", f"turn {i}") for i in range(9)]),
}

SPECIALS = {
    "llama3": ("<|begin_of_text|>", "<|eot_id|>"), "gemma": ("<bos>", "<eos>"), "falcon": (None, "<|endoftext|>"),
    "phi3": ("<s>", "<|endoftext|>"), "qwen": (None, "<|im_end|>"), "chatml": (None, "<|im_end|>"),
}

# Expressions and small templates, one a line, each rendered with the conversation "system turns".
SMALL = r"""
{{ 1 + 2 * 3 ** 2 // 4 - 5 % 3 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}
{{ 1.0 }} {{ 1e16 }} {{ 1e15 }} {{ 0.1 + 0.2 }} {{ 1e-5 }} {{ 123456789.125 }} {{ 1_000 }} {{ 0x1f }} {{ 5.5 // 2 }} {{ -5.5 % 2 }}
{{ 1 ~ 'a' ~ none ~ true ~ 1.5 ~ [1, 'b'] ~ missing }} {{ 'a' + 'b' * 3 }} {{ 2 * 'xy' }} {{ [1] * 2 + [3] }} {{ 'a' 'b' "c" }}
{{ 'a' if true }}|{{ 'a' if false }}|{{ 'a' if false else 'b' if false else 'c' }}|{{ ('x' if 1 > 2 else 'y') ~ 'z' }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 'a' == 1 }} {{ none == false }}
{{ 'a' in 'abc' }} {{ 'a' not in 'abc' }} {{ 1 in [1, 2] }} {{ 'role' in messages[0] }} {{ not 'a' in 'b' }} {{ 1 not in [] }}
{{ true and 'x' }} {{ false or 'y' }} {{ '' or [] or none }} {{ not none }} {{ not (1 and 0) }} {{ none and 1 }}
{{ "a\n\t\\b\"c\'\x41\u00e9\U0001F642\101\q" }} {{ 'it\'s' }} {{ '\\' }} {{ "{{ x }}" }} {{ '%}' }} {{ '}}' }}
{{ messages[0] }} {{ messages[0].role }} {{ messages[-1]['role'] }} {{ messages[9] }}| {{ messages[0].nothing }}| {{ messages.0.role }}
{{ messages[1:]|length }} {{ messages[::-1][0].role }} {{ messages[:-1]|length }} {{ 'abcdef'[1:4] }} {{ 'abcdef'[::-2] }} {{ 'héllo'[1] }} {{ 'abc'[-5:2] }} {{ 'abc'[5:] }}| {{ [1,2,3,4][-3:-1] }}
{{ missing is defined }} {{ missing is undefined }} {{ none is defined }} {{ none is none }} {{ tools is none }} {{ tools is defined }} {{ missing is none }}
{{ 1 is number }} {{ true is number }} {{ true is boolean }} {{ true is integer }} {{ 1 is integer }} {{ 1.0 is float }} {{ 'a' is string }} {{ [] is sequence }} {{ 'a' is sequence }} {{ {} is mapping }} {{ {} is iterable }} {{ 1 is iterable }} {{ (1,) is sequence }} {{ none is string }}
{{ 3 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ 1 is true }} {{ true is true }} {{ false is false }} {{ 0 is false }} {{ 1 is eq 1 }} {{ 1 is in [1] }} {{ 2 is gt 1 }} {{ 'a' is not string }} {{ range is callable }} {{ 'A' is upper }} {{ '1' is lower }} {{ none is sameas none }}
{{ 'a' is string and 1 is number or false }} {{ missing is not defined and true }} {% if missing is defined and missing.x %}a{% else %}b{% endif %}
{{ '  a b '.strip() }}| {{ 'xxaxx'.strip('x') }} {{ 'xay'.lstrip('x') }} {{ 'a\n\n'.rstrip('\n') }}| {{ ' a'|trim }} {{ 'xax'|trim('x') }}
{{ 'a,b,c'.split(',') }} {{ 'a b  c '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a  b c '.split(none, 1) }} {{ ' a  b c '.rsplit(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a'.split('a') }}
{{ 'a\nb\r\nc'.splitlines() }} {{ 'a\n\nb\n'.splitlines(true) }} {{ 'abc'.startswith('a') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'aXbX'.replace('X', '--') }} {{ 'aXbX'.replace('X', '-', 1) }} {{ 'ab'.replace('', '.') }}
{{ 'hello world'.title() }} {{ 'hELLO'.capitalize() }} {{ 'Ab'.upper() }} {{ 'Ab'.lower() }} {{ 'they\'re'.title() }} {{ '-'.join(['a', 'b']) }} {{ 'abcabc'.find('c') }} {{ 'abcabc'.rfind('c') }} {{ 'é1'.find('1') }} {{ 'abcabc'.count('b') }}
{{ 'a1'.isdigit() }} {{ '12'.isdigit() }} {{ 'ab'.isalpha() }} {{ ' '.isspace() }} {{ 'AB'.isupper() }} {{ 'ab1'.islower() }} {{ 'ab1'.isalnum() }} {{ ''.isdigit() }} {{ 'xay'.removeprefix('x') }} {{ 'xay'.removesuffix('y') }}
{{ {'a': 1, 'b': [2]}.items()|list }} {{ {'a': 1}.keys()|list }} {{ {'a': 1}.values()|list }} {{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 'c') }} {{ {1: 'x', 'y': none} }} {{ {'items': 3}['items'] }}
{{ [3, 1, 2]|sort }} {{ ['b', 'A', 'c']|sort }} {{ ['b', 'A']|sort(case_sensitive=true) }} {{ [1, 2]|reverse|list }} {{ 'abc'|reverse }} {{ [1, 2, 3]|sum }} {{ messages|sort(attribute='role')|map(attribute='role')|list }} {{ [1, 3, 2]|max }} {{ ['b', 'A']|min }}
{{ messages|map(attribute='role')|join(', ') }} {{ messages|selectattr('role', 'equalto', 'user')|list|length }} {{ messages|rejectattr('role', 'eq', 'user')|map(attribute='role')|list }} {{ [0, 1, '', 'a']|select|list }} {{ [1, 2, 3]|select('odd')|list }} {{ [1, 2, 3]|reject('gt', 1)|list }} {{ ['a', 'b']|map('upper')|join }} {{ [1, 2]|select('>', 1)|list }}
{{ (messages|selectattr('role', 'equalto', 'user')|first).content }} {{ messages|first is mapping }} {{ ([]|first) is defined }} {{ (messages|last)['role'] }} {% if messages|selectattr('role', 'equalto', 'nobody') %}generator{% endif %}
{{ [1, 'a', none, true, 1.5, {'k': 'é"\n\u2028'}]|tojson }} {{ {'b': 1, 'a': [1, {}]}|tojson(indent=2) }} {{ {'b': 1, 'a': []}|tojson(sort_keys=true) }} {{ 'é😀'|tojson(ensure_ascii=true) }} {{ [1, 2]|tojson(separators=(',', ':')) }} {{ (1, 2)|tojson }} {{ '<\x01\x7f>'|tojson }}
{{ missing|default('d') }} {{ ''|default('d') }}| {{ ''|default('d', true) }} {{ none|default('d') }} {{ none|d('d', boolean=true) }} {{ missing|length }} {{ 'é漢'|length }} {{ {'a': 1}|count }}
{{ '5'|int + 1 }} {{ 'x'|int }} {{ '7.9'|int }} {{ 3.7|int }} {{ 'x'|int(4) }} {{ '1.5'|float }} {{ 2|float }} {{ 2.5|round }} {{ 2.567|round(2) }} {{ 2.1|round(0, 'ceil') }} {{ -3|abs }} {{ true|int }} {{ 'ff'|int(0, 16) }}
{{ 'a b'|replace(' ', '_') }} {{ 'hello'|upper }} {{ 'HELLO there'|title }} {{ 'hello World'|capitalize }} {{ 5|string ~ 5 }} {{ ['a', 1]|join('-') }} {{ [1, 1, 2]|unique|list }} {{ ['a', 'A']|unique|list }} {{ {'b': 1, 'a': 2}|dictsort }} {{ {'a': 1}|items|list }} {{ 'a b c'|wordcount }} {{ 'ab'|list }} {{ messages[0]|attr('role') }}|
{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\nb'|indent('> ') }}
{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }} {% if true %}{% set x = 9 %}{% endif %}{{ x }}
{% set ns = namespace(a=1, b='x') %}{% for i in range(3) %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c }}|
{% for i in range(5) if i is odd %}{{ loop.index }}:{{ i }} {{ loop.first }} {{ loop.last }} {{ loop.revindex }} {{ loop.previtem }} {{ loop.nextitem }} {{ loop.cycle('a', 'b') }} {{ loop.changed(i) }};{% else %}none{% endfor %}
{% for i in [] %}x{% else %}empty{% endfor %} {% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }}{{ ',' if not loop.last }}{% endfor %} {% for a, b in [(1, 2), [3, 4]] %}{{ a + b }} {% endfor %} {% for c in 'aé' %}{{ c }}.{% endfor %} {% for k in {'z': 1} %}{{ k }}{% endfor %}
{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %} {{ range(2, 8, 3)|list }} {{ range(3, 0, -1)|list }} {% for i in range(0) %}{% endfor %}
{% macro m(a, b=2) %}{{ a }}-{{ b }}|{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=4, a=0) }}{{ m() }}{{ m('x') ~ 'y' }} {% set outer = 5 %}{% macro n() %}{{ outer }}{{ i }}{% endmacro %}{% for i in [1] %}{{ n() }}{% endfor %}
{% set t %}a{{ 1 }}b{% endset %}{{ t|upper }} {% set a, b = 1, 2 %}{{ a }}{{ b }} {% with x = 3, y = 4 %}{{ x * y }}{% endwith %}{{ x }}| {% filter upper %}abc{{ 'd' }}{% endfilter %} {% set u | trim | upper %} q {% endset %}{{ u }}|
{% raw %}{{ not }} {% this %}{% endraw %} {# comment {{ x }} #}a {#- b -#} c {% print 1 + 1 %} {{ (1, 2) }} {{ 1, 2 }} {{ () }} {{ (1,) }} {{ [] }} {{ {} }}
{% for i in [[1, [2, [3]]]] recursive %}{% if i is iterable %}({{ loop(i) }}){% else %}{{ i }}@{{ loop.depth }} {% endif %}{% endfor %}
{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }} {{ {'a': 1} == dict(a=1) }} {{ [1] == (1,) }} {{ messages[0] == messages[0] }} {{ "a'b" ~ ["a'b", 'a"b', 'é\n\x00\u200b'] }}
{{ messages[0]['role'] | upper + 'x' }} {{ 'a' + 'B' | lower }} {{ ('a' + 'B') | lower }} {{ -1 | abs }} {{ 1 + -1 }} {{ not 1 == 2 }} {{ 1 if 0 else 2 + 3 }} {{ [1, 2, ][1] }} {{ {'a': 1, }.a }} {{ 'x' ~ 1 + 2 if false }}
{{ messages
   | map(attribute='role')
	| list }} {{ 'two' if messages
 and messages[0] else 'no' }}
a   {% if true %}   b   {% endif %}   c
{{ 1 }}   {% if true %} x {% endif %}
{{ strftime_now is defined }} {{ strftime_now('%d %b %Y %B %m %y %H:%M:%S %A %a %j %%') if strftime_now is defined }}
{% macro m(a) %}{{ a }} {{ kwargs }} {{ varargs }}{% endmacro %}{{ m(1, 2, 3, b=4, c=5) }} {{ m(a=1, d='x') }} {{ m(*[1, 2], **{'b': 3}) }} {{ m() }}
{% macro m(a) %}{{ kwargs.get('b') }}{% macro n() %}{{ varargs|length }}{% endmacro %}{{ n(1, 2) }}{% endmacro %}{{ m(1, 2, b=3) }} {{ dict(**{'x': 1}, **{}) }}
{{ dict(**{'x': 1}) }} {{ dict({'a': 2}, b=3, **{'x': 1}) }} {{ range(*[1, 4])|list }} {{ namespace(**{'a': 1}).a }}
{% macro m(a) %}{{ kwargs }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ varargs }}{% endmacro %}{{ m(1, b=2) }}
{{ dict(**[1]) }}
{{ dict(*5) }}
{{ dict(**{1: 2}) }}
{{ dict(a=1, **{'a': 2}) }}
{{ dict(**{'a': 2}, a=1) }}
{{ dict(*[], {}) }}
{{ 'abc' is in ['abc'] }} {{ 'x' in missing }} {{ missing == other }} {{ missing|list }} {{ missing ~ '' }}| {{ missing or 'z' }} {% for x in missing %}{% endfor %} {{ messages|length > 2 and messages|length < 9 }}
{{ missing.attribute }}
{{ missing + 1 }}
{{ missing() }}
{{ 'a' + 1 }}
{{ 1 / 0 }}
{{ messages[0].x.y }}
{{ 'abc'.nosuch() }}
{{ messages.append(1) }}
{{ {}.update({}) }}
{{ 'a'|nosuch }}
{{ 'a' is nosuch }}
{{ raise_exception('told: ' ~ messages|length) }}
{{ [1, 'a']|sort }}
{{ 1 < 'a' }}
{{ none.x }}|
{{ none + 'a' }}
{{ 5|length }}
{{ messages|selectattr('role')|length }}
{{ 'a' in 5 }}
{% for x in 5 %}{% endfor %}
{% for a, b in [1] %}{% endfor %}
{% set x.y = 1 %}
{{ 'a'.join([1]) }}
{{ range(1000000)|length }}
{{ m(1, 2, 3) }}
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{% endmacro %}{{ m(b=2) }}
{{ ''.__class__ }}|{{ messages.__class__.__mro__ }}
{{ [1, 2][none] }}| {{ 'a'[1.5] }}| {{ 5[0] }}|
{{ 1 +
{{ a b }}
{% if %}x{% endif %}
{% if true %}
{% endif %}
{% for x %}{% endfor %}
{% unknown %}
{{ $ }}
{{ 'a }}
{{ (1, 2 }}
{{ [1, 2) }}
{# open
{% raw %}x
{% break %}
{% else %}
{{ 1 ; 2 }}
{{ a. }}
{{ a[] }}
{{ 'a' if }}
{% set %}
{% set 1 = 2 %}
{% set true = 2 %}
{{ f(a=1, 2) }}
{{ 010 }}
{{ 1 is }}
{{ 1 is eq 1 is eq 1 }}
{% endfor %}
{{ }}
{%  %}
"""


def outcome(template, **variables):
    try:
        return {"text": environment().from_string(template).render(**variables)}
    except jinja2.exceptions.TemplateSyntaxError as e:
        return {"error": str(e), "kind": "syntax"}
    except jinja2.exceptions.TemplateError as e:
        return {"error": str(e), "kind": "refused" if type(e) is jinja2.exceptions.TemplateError else "run"}
    except Exception as e:  # what Python raises inside a template
        return {"error": f"{type(e).__name__}: {e}", "kind": "run"}


def variables(specials, messages, prompt):
    names = {name: token for name, token in specials.items() if token is not None}
    return {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": prompt, **names}


def known():
    """Writes the texts of known.json again, whose templates somebody wrote or drew at random."""
    path = HERE / "known.json"
    messages = say(("s", "  Be kind.\n"), ("u", " Hi "), ("a", "\n Hello! \n"), ("u", "And?\n\n\nwhy"))
    sections = json.loads(path.read_text())
    for section in sections:
        templates = [template for template, _ in section["cases"]]
        texts = [outcome(t, **variables({"bos_token": "<s>"}, messages, False))["text"] for t in templates]
        section["cases"] = list(zip(templates, texts))
    line = lambda value: json.dumps(value, ensure_ascii=False)
    blocks = [
        '{"about": %s, "cases": [\n%s\n]}' % (line(s["about"]), ",\n".join(map(line, s["cases"]))) for s in sections
    ]
    path.write_text("[\n" + ",\n".join(blocks) + "\n]\n")
    return sum(len(s["cases"]) for s in sections)


def main():
    cases = []
    for path in sorted((HERE / "templates").iterdir()):
        found = [pair for prefix, pair in SPECIALS.items() if path.name.startswith(prefix)] or [("<s>", "</s>")]
        specials = dict(zip(("bos_token", "eos_token"), found[0]))
        for name, messages in CONVERSATIONS.items():
            for prompt in (False, True):
                for extra in [{}] + [{"enable_thinking": False}] * ("thinking" in path.read_text()):
                    case = {
                        "template": path.name, "name": name, "prompt": prompt, "variables": extra,
                        "specials": {k: v for k, v in specials.items() if v is not None}, "messages": messages,
                    }
                    case |= outcome(path.read_text(), **variables(specials, messages, prompt), **extra)
                    cases.append(case)
    small = []
    lines = SMALL.strip("\n").replace("\n   |", "\x00   |").replace("\n\t|", "\x00\t|").replace("\n and", "\x00 and")
    for line in lines.split("\n"):
        line = line.replace("\x00", "\n")
        text = outcome(line, **variables({"bos_token": "<s>"}, CONVERSATIONS["system turns"], False))
        small.append({"template": line, **text})
    out = {"jinja2": jinja2.__version__, "date": DATE.isoformat(), "messages": CONVERSATIONS["system turns"], "cases": cases, "small": small}
    (HERE / "recorded.json").write_text(json.dumps(out, indent=0, ensure_ascii=True) + "\n")
    print(f"jinja2 {jinja2.__version__}: {len(cases)} conversations, {len(small)} small templates, {known()} known texts")


main()
