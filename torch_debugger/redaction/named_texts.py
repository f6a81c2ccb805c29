"""Secrets of a text by the names that stand before them, read once from its beginning to its end.

Whatever follows a name is looked at within a bounded distance, or it is taken out and never looked at again:
the time grows with the length of the text and not with its square, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torch_debugger.redaction.languages import PHRASES
from torch_debugger.redaction.looks import SCHEMES, SECRET, is_no_word, is_secret, looks_random
from torch_debugger.redaction.names import Strength, is_plural, is_secret_number, strength
from torch_debugger.redaction.remembered import remember

_NAME = re.compile(rf"(?<![\w.])(?:(?i:{PHRASES})|[^\W\d][\w.-]{{0,80}})")
# What stands between a name and its value: the name may be a subscript, a keyword, a key, an option.
_TYPE = r"[A-Za-z_][A-Za-z_.]{0,40}(?:\[[\w., |\[\]]{0,60}\])?(?: ?\| ?[\w.]{1,20})?"
# `api_key: str = "..."`. What ends with a sign of equality, as base64 does, has nothing behind it.
_ANNOTATED = rf":[ \t]{{0,4}}(?:{_TYPE}|'{_TYPE}'|\"{_TYPE}\")[ \t]{{0,4}}=(?=[ \t]{{0,4}}[^\s=>,;)\]}}])"
_BETWEEN = re.compile(
    r"(?P<close>['\"])?(?P<sign>\s{0,40}(?:\]\s{0,40})?"
    rf"(?:(?(close)=(?![=>])|(?:{_ANNOTATED}|=(?![=>])))|[:+]=|==|=>|[:\uff1a]"
    r"|(?:,\s{0,40})?['\"]?\bvalue['\"]?\s{0,4}[:=]|,|\)\s{0,9}or\b)|[ \t]{1,4}(?=[^\s=:,]))[\s\\]{0,80}"
)
_TEXT = r"[bfrtuBFRTU]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
_ONE = re.compile(_TEXT, re.DOTALL)
_SEVERAL = re.compile(rf"{_TEXT}(?:[\s+\\-]{{0,80}}{_TEXT})*", re.DOTALL)
_SHORT = re.compile(r"[bfrtuBFRTU]{0,2}(?P<quote>['\"])(?P<inside>[^'\"\s\\]{16,400})(?P=quote)")
_PART = re.compile(rf"(?P<text>{_TEXT})(?P<key>\s{{0,9}}:)?|(?P<opens>[\[({{])|(?P<closes>[\])}}])", re.DOTALL)
_PUT_IN = re.compile(r"\{\s{0,9}(?P<text>(?P<quote>['\"])[^'\"\n]{1,300}(?P=quote))\s{0,9}(?:![rsa])?\}")
_NUMBER = re.compile(r"\d[\d_]{0,80}(?=[\s,;)\]}&#'\"\\]|[.:](?!\S)|$)")
_UNQUOTED = re.compile(r"[^\s'\"&;]{1,400}")
_DEFAULT = re.compile(r"\bdefault\s{0,9}=\s{0,9}")
_OTHERWISE = re.compile(
    r"(?:\bor|\belse|\bdefault\s{0,3}=|\b(?:SecretStr|SecretBytes|Field|field|str|bytes|b64decode)\()\s{0,9}$"
)
_CODE = re.compile(r"[$<{(\[*]|%[sdr(]|[A-Za-z_][\w.]*[,)(\[\]:]|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$")
_HIDDEN = SECRET.strip("[]")
_NEAR, _FAR = 300, 2000  # characters


class Span(NamedTuple):
    start: int
    end: int
    put: str | None  # None: nothing here is hidden, nor looked at again


class Named(NamedTuple):
    """A telling name where it stands."""

    text: str
    name: str
    start: int
    end: int
    level: Strength
    message: bool

    @property
    def before(self) -> str:
        return self.text[max(0, self.start - 1) : self.start]


def redact_named(text: str, *, message: bool) -> str:
    kept: list[str] = []
    done = 0
    for match in _NAME.finditer(text):
        level = strength(match[0]) if match.start() >= done else Strength.PLAIN
        if match[0] == _HIDDEN and text[match.start() - 1 : match.end() + 1] == SECRET:
            continue
        if level or match[0].endswith("login"):
            for start, end, put in _spans(Named(text, match[0], *match.span(), level, message)):
                kept += [text[done:start], text[start:end] if put is None else put]
                done = end
    return "".join([*kept, text[done:]])


def _spans(named: Named) -> list[Span]:
    if named.text[named.end : named.end + 1] == "(":
        return list(_given(named))
    between = _BETWEEN.match(named.text, named.end)
    if between is None:
        return []
    return next(filter(None, (list(find(named, between)) for find in _FORMS)), [])


def _given(named: Named) -> Iterator[Span]:
    """wandb.login("never", "0123..."): arguments that look random."""
    for match in _SHORT.finditer(named.text, named.end, _line_end(named.text, named.end)):
        if looks_random(match["inside"]):
            yield _hidden(match)


def _bracketed(named: Named, between: re.Match[str]) -> Iterator[Span]:
    """API_KEYS = ["a", "b"], secrets = {"wandb": "a"}, auth=("user", "a"): every text but the keys."""
    text, start = named.text, between.end()
    pair = named.level == Strength.BARE and named.name.endswith("auth")
    if text[start : start + 1] not in tuple("[({") or not (named.level >= Strength.SOFT or pair):
        return
    depth = 0
    for part in _PART.finditer(text, start, start + _FAR):
        depth += bool(part["opens"]) - bool(part["closes"])
        if depth <= 0:
            yield Span(*part.span(), None)
            return
        if part["text"] and not part["key"] and _is_hidden(named, part["text"]):
            yield _hidden(part)
    end = min(start + _FAR, len(text))
    yield Span(end, end, None)


def _quoted(named: Named, between: re.Match[str]) -> Iterator[Span]:
    comma = between["sign"].strip() == ","
    if comma and not between["close"]:
        return  # os.path.join(pwd, "data") names no value; setattr(x, "api_key", "...") does
    pattern = _SEVERAL if named.level >= Strength.SOFT else _SHORT
    match = pattern.match(named.text, between.end())
    if match is None or (comma and _inside(match[0]).startswith("-")) or _is_end_of_text(named, between, match):
        return
    if _is_hidden(named, match[0]):
        yield _hidden(match)


def _put_in(named: Named, between: re.Match[str]) -> Iterator[Span]:
    """f"token={'...'}": what an f-string puts in. Elsewhere it is a set of one text."""
    match = _PUT_IN.match(named.text, between.end())
    if match is None or between["close"] or not _is_in_f_string(named):
        return
    if is_secret(named.name, named.level, _inside(match["text"])):
        yield Span(*match.span("text"), f"{match['quote']}{SECRET}{match['quote']}")


def _number(named: Named, between: re.Match[str]) -> Iterator[Span]:
    """{"password": 3466439456}, Client(password=1234, retries=3)"""
    match = _NUMBER.match(named.text, between.end())
    sign = between["sign"].strip()
    if match is None or not sign or (sign == "," and not between["close"]):
        return
    if is_secret_number(named.name, match[0]):
        yield Span(*match.span(), SECRET)


def _unquoted(named: Named, between: re.Match[str]) -> Iterator[Span]:
    match = _UNQUOTED.match(named.text, between.end())
    if match is None or between["close"] or between["sign"].strip() == ",":
        return
    if named.level < Strength.SOFT and match[0].startswith("{"):
        return  # f"?token={token}"
    value = match[0].rstrip(",.)]}:") if named.message else match[0]
    if value and not value.startswith(SECRET) and _is_meant(named, between["sign"], value):
        if named.message and named.level >= Strength.SOFT:
            remember(value)
        yield Span(match.start(), match.start() + len(value), SECRET)


def _default(named: Named, between: re.Match[str]) -> Iterator[Span]:
    """parser.add_argument("--api-key", type=str, default="...")"""
    if named.before != "-":
        return
    segment = re.split(r"['\"]--", named.text[named.end : named.end + _NEAR])[0]
    default = _DEFAULT.search(segment)
    start = named.end + default.end() if default else len(named.text)
    match, number = _ONE.match(named.text, start), _NUMBER.match(named.text, start)
    if match is not None and _is_hidden(named, match[0]):
        yield _hidden(match)
    elif number is not None and is_secret_number(named.name, number[0]):
        yield Span(*number.span(), SECRET)


def _otherwise(named: Named, between: re.Match[str]) -> Iterator[Span]:
    """api_key = os.environ.get("X") or "...", api_key: str = field(default="...")"""
    if named.level < Strength.SOFT:
        return
    start = between.end()
    for match in _ONE.finditer(named.text, start, _line_end(named.text, start)):
        before = named.text[max(start, match.start() - 40) : match.start()]
        if _OTHERWISE.search(before) and _is_hidden(named, match[0]):
            yield _hidden(match)


_FORMS: tuple[Callable[[Named, re.Match[str]], Iterator[Span]], ...] = (
    _put_in, _bracketed, _quoted, _number, _unquoted, _default, _otherwise,
)  # fmt: skip


def _is_meant(named: Named, sign: str, value: str) -> bool:
    """Whether what stands without quotes is a value, and no word nor code."""
    level, name = named.level, named.name
    beside = not sign.strip() and named.before != "-"  # "the key torch/data0", "password 0123..."
    if looks_random(value) and level >= (Strength.SOFT if beside else Strength.HINT):
        return True
    if (
        value.lower() in SCHEMES
        or not is_secret(name, level, value)
        or (value.isdigit() and is_plural(name))
        or value == name
    ):
        return False
    asked = sign == "=" and named.before in tuple("-?&;")  # --token=X, ?key=X
    if level < Strength.SOFT:
        return asked and level == Strength.BARE
    if named.message:
        return sign == "=" or (bool(sign.strip()) and not value.islower()) or is_no_word(value)
    if _CODE.match(value):
        return False
    assigned = sign == "=" or named.text[max(0, named.start - 4) : named.start] == "ENV "
    option = bool(sign.strip()) or named.before == "-"
    return assigned or (option and is_no_word(value))


def _is_end_of_text(named: Named, between: re.Match[str], match: re.Match[str]) -> bool:
    """print("password: ", x, "done"): the quote behind the name ends a text, and begins none."""
    quote = match[0].lstrip("bfrtuBFRTU")[:1]
    line = named.text[max(named.text.rfind("\n", 0, named.start), named.start - _NEAR, 0) : named.start]
    goes_on = _inside(match[0]).lstrip()[:1] in tuple(",)")
    return not between["close"] and line.count(quote) % 2 == 1 and goes_on


def _is_in_f_string(named: Named) -> bool:
    line = named.text[max(named.text.rfind("\n", 0, named.start), named.start - _NEAR, 0) : named.start]
    starts = {quote: line.lower().rfind(f"f{quote}") for quote in "'\""}
    return any(start >= 0 and quote not in line[start + 2 :] for quote, start in starts.items())


def _is_hidden(named: Named, literal: str) -> bool:
    inside = _inside(literal)
    if named.level == Strength.SURE or (named.level == Strength.BARE and named.name.endswith("auth")):
        return bool(inside) and inside != SECRET and is_secret(named.name, Strength.SURE, inside)
    if named.level == Strength.SOFT:
        return is_secret(named.name, named.level, inside)
    return looks_random(inside)


def _inside(literal: str) -> str:
    return literal.lstrip("bfrtuBFRTU").strip("'\"")


def _hidden(match: re.Match[str]) -> Span:
    literal = match.groupdict().get("text") or match[0]
    quote = '"' if '"' in literal else "'"
    return Span(match.start(), match.start() + len(literal), f"{quote}{SECRET}{quote}")


def _line_end(text: str, start: int) -> int:
    found = text.find("\n", start, start + _NEAR)
    return start + _NEAR if found < 0 else found
