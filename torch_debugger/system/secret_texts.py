"""Secrets of a text by the names that stand before them, read once from its beginning to its end.

Whatever follows a name is looked at within a bounded distance, or it is taken out and never looked at again:
the time grows with the length of the text and not with its square, whatever the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torch_debugger.system.secret_names import (
    PHRASES,
    SCHEMES,
    SECRET,
    Strength,
    is_no_word,
    is_plural,
    is_secret,
    is_secret_number,
    looks_random,
    remember,
    strength,
)

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


class TextSpan(NamedTuple):
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


def _spans(named: Named) -> list[TextSpan]:
    if named.text[named.end : named.end + 1] == "(":
        return list(_random_arguments(named))
    between = _BETWEEN.match(named.text, named.end)
    if between is None:
        return []
    return next(filter(None, (list(find(named, between)) for find in _FORMS)), [])


def _random_arguments(named: Named) -> Iterator[TextSpan]:
    """wandb.login("never", "0123..."): arguments that look random."""
    for match in _SHORT.finditer(named.text, named.end, _line_end(named.text, named.end)):
        if looks_random(match["inside"]):
            yield _hidden(match)


def _bracketed(named: Named, between: re.Match[str]) -> Iterator[TextSpan]:
    """API_KEYS = ["a", "b"], secrets = {"wandb": "a"}, auth=("user", "a"): every text but the keys."""
    text, start = named.text, between.end()
    pair = named.level == Strength.BARE and named.name.endswith("auth")
    if text[start : start + 1] not in tuple("[({") or not (named.level >= Strength.SOFT or pair):
        return
    depth = 0
    for part in _PART.finditer(text, start, start + _FAR):
        depth += bool(part["opens"]) - bool(part["closes"])
        if depth <= 0:
            yield TextSpan(*part.span(), None)
            return
        if part["text"] and not part["key"] and _is_hidden(named, part["text"]):
            yield _hidden(part)
    end = min(start + _FAR, len(text))
    yield TextSpan(end, end, None)


def _quoted(named: Named, between: re.Match[str]) -> Iterator[TextSpan]:
    comma = between["sign"].strip() == ","
    if comma and not between["close"]:
        return  # os.path.join(pwd, "data") names no value; setattr(x, "api_key", "...") does
    pattern = _SEVERAL if named.level >= Strength.SOFT else _SHORT
    match = pattern.match(named.text, between.end())
    if match is None or (comma and _inside(match[0]).startswith("-")) or _is_end_of_text(named, between, match):
        return
    if _is_hidden(named, match[0]):
        yield _hidden(match)


def _put_in(named: Named, between: re.Match[str]) -> Iterator[TextSpan]:
    """f"token={'...'}": what an f-string puts in. Elsewhere it is a set of one text."""
    match = _PUT_IN.match(named.text, between.end())
    if match is None or between["close"] or not _is_in_f_string(named):
        return
    if is_secret(named.name, named.level, _inside(match["text"])):
        yield TextSpan(*match.span("text"), f"{match['quote']}{SECRET}{match['quote']}")


def _number(named: Named, between: re.Match[str]) -> Iterator[TextSpan]:
    """{"password": 3466439456}, Client(password=1234, retries=3)"""
    match = _NUMBER.match(named.text, between.end())
    sign = between["sign"].strip()
    if match is None or not sign or (sign == "," and not between["close"]):
        return
    if is_secret_number(named.name, match[0]):
        yield TextSpan(*match.span(), SECRET)


def _unquoted(named: Named, between: re.Match[str]) -> Iterator[TextSpan]:
    match = _UNQUOTED.match(named.text, between.end())
    if match is None or between["close"] or between["sign"].strip() == ",":
        return
    if named.level < Strength.SOFT and match[0].startswith("{"):
        return  # f"?token={token}"
    value = match[0].rstrip(",.)]}:") if named.message else match[0]
    if value and not value.startswith(SECRET) and _is_meant(named, between["sign"], value):
        if named.message and named.level >= Strength.SOFT:
            remember(value)
        yield TextSpan(match.start(), match.start() + len(value), SECRET)


def _default(named: Named, between: re.Match[str]) -> Iterator[TextSpan]:
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
        yield TextSpan(*number.span(), SECRET)


def _otherwise(named: Named, between: re.Match[str]) -> Iterator[TextSpan]:
    """api_key = os.environ.get("X") or "...", api_key: str = field(default="...")"""
    if named.level < Strength.SOFT:
        return
    start = between.end()
    for match in _ONE.finditer(named.text, start, _line_end(named.text, start)):
        before = named.text[max(start, match.start() - 40) : match.start()]
        if _OTHERWISE.search(before) and _is_hidden(named, match[0]):
            yield _hidden(match)


_FORMS: tuple[Callable[[Named, re.Match[str]], Iterator[TextSpan]], ...] = (
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
    is_option = sign == "=" and named.before in tuple("-?&;")  # --token=X, ?key=X
    if level < Strength.SOFT:
        return is_option and level == Strength.BARE
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


def _hidden(match: re.Match[str]) -> TextSpan:
    literal = match.groupdict().get("text") or match[0]
    quote = '"' if '"' in literal else "'"
    return TextSpan(match.start(), match.start() + len(literal), f"{quote}{SECRET}{quote}")


def _line_end(text: str, start: int) -> int:
    found = text.find("\n", start, start + _NEAR)
    return start + _NEAR if found < 0 else found


# Secrets by what stands around them, a line each: the place, what stands in a text with one, the pattern.
#
# The secret is the group `value` of the pattern. Every repetition is bounded, as those of the known forms are. A rule
# is tried only where one of its signs stands, in either case; here they are in lower case.
class Around(NamedTuple):
    where: str
    signs: str
    pattern: str  # verbose


# What follows an option: `-p X`, `--password=X`, and `"-p", "X"` of a list of words.
_THEN = r"(?:\s{1,4}|=|['\"],\s{0,40})"
_WORD = r"(?P<quote>['\"])?(?P<value>(?(quote)(?:(?!(?P=quote))[^\n]){1,300}|[^\s'\"]{1,300}))"
_ON = r"(?:[^\n]|(?<=[\\,])\n)"  # a command that goes on in the next line
# Of a call: any first argument, then a text.
_AROUND_TEXT = r"[bBfFrRuU]{0,2}(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')"
_FIRST = rf"(?:{_AROUND_TEXT}|[\w.]{{1,100}}(?:\([^()\n]{{0,80}}\)|\[[^\[\]\n]{{0,80}}\])?)\s{{0,9}},\s{{0,40}}"
_LITERAL = r"[bBfFrRuU]{0,2}(?P<quote>['\"])(?P<value>(?:(?!(?P=quote))[^\\\n]|\\.){1,300})(?P=quote)"

_RULES = (
    Around("a login of a web address", "://", r"://(?P<value>[^/\s:@'\"]{16,300})@"),
    Around(
        "a part of a web address that an f-string puts in", "://", r"://[^/\s:@'\"]{0,200}:\{(?P<quote>['\"])"
        r"(?P<value>[^'\"\n]{1,300})(?P=quote)\}@"
    ),
    Around(
        "a header", "authorization",
        r"(?i:authorization['\"]?\s{0,9}[:=,]\s{0,9}[fFrRbB]?['\"]?(?:bearer|basic|token|ssws)?\s{0,9})"
        r"(?P<value>[\w.~+/=-]{6,})",
    ),
    Around("a scheme", "bearer", r"\b[Bb]earer\s{1,9}(?P<value>[\w.~+/=-]{16,})"),
    Around("a scheme in an f-string", "bearer", r"\b[Bb]earer\s{1,9}\{['\"](?P<value>[^'\"\n]{6,300})['\"]\}"),
    Around("Okta's header", "ssws", r"\bSSWS\s{1,4}(?P<value>00[\w=-]{20,})"),
    Around(
        "Okta's names", "okta", r"(?i:okta)[^\n]{0,60}?['\"\s:=](?P<value>00[\w=-]{40,})",
    ),
    Around(
        "curl", "curl",
        r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user|--proxy-user)[\s=]{1,4}['\"]?[^\s:'\"]{1,100}:"
        r"(?P<value>[^\s'\"]{1,300})",
    ),
    Around(
        "MySQL, and MariaDB", "mysql mariadb",
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,200}?\s-p(?=\S)['\"]?(?P<value>[^\s'\"]{1,300})",
    ),
    Around(
        "sshpass", "sshpass",
        rf"\bsshpass(?:[\s'\",]{{1,4}}-[a-oq-z]){{0,3}}[\s'\",]{{1,4}}-p{_THEN}?{_WORD}",
    ),
    Around(
        "registries of containers", "login",
        r"\b(?:docker|podman|nerdctl|buildah|skopeo|oras|helm|crane|az)\b[^\n]{0,40}?\blogin\b"
        rf"{_ON}{{0,200}}?[\s'\"](?:--password{_THEN}|-p{_THEN}?){_WORD}",
    ),
    Around(
        "smtp.login(user, password)", "login",
        rf"\.login\(\s{{0,40}}{_FIRST}(?:passw(?:or)?d\s{{0,4}}=\s{{0,4}})?{_LITERAL}",
    ),
    Around("FTP(host, user, password)", "ftp", rf"\bFTP(?:_TLS)?\(\s{{0,40}}{_FIRST}{_FIRST}{_LITERAL}"),
    Around(
        "HTTPBasicAuth(user, password)", "auth",
        rf"\b(?:HTTP(?:Basic|Digest|Proxy)|Basic|Digest)Auth\(\s{{0,40}}{_FIRST}{_LITERAL}",
    ),
    Around("auth=(user, password)", "auth", rf"auth\s{{0,4}}=\s{{0,4}}\(\s{{0,40}}{_FIRST}{_LITERAL}"),
    Around(
        "pin = 1234", "pin",
        r"(?:pin|PIN|Pin)(?<![A-Za-z]pin)(?<![A-Za-z]PIN)(?<![A-Z]Pin)(?:[_-]?(?i:code))?['\"\]]{0,2}\s{0,4}"
        r"(?::\s{0,4}int\s{0,4}=|:=|==?|:|(?<=['\"]),)\s{0,4}(?P<quote>['\"])?(?P<value>\d{4,12})(?(quote)(?P=quote)|(?!\w|\.\d))",
    ),
    Around(
        "'the password is X', in a comment or a message",
        "password passwort passwd passphrase passcode passe pwd token secret key contrase senha",
        r"(?i:\b(?:passwor[dt]|passwd|passphrase|passcode|pwd|token|secret|api\ key|apikey|mot\ de\ passe"
        r"|contraseña|senha)\s{1,4}(?:is|was|ist|war|lautet|est|es|é)\s{0,4}[:=]?\s{0,4}['\"`]?)"
        r"(?P<value>(?=[^\s'\"`]{0,100}\d)[^\s'\"`,;)]{6,200})",
    ),
)  # fmt: skip

CONTEXT_SIGNS = tuple(dict.fromkeys(sign for rule in _RULES for sign in rule.signs.split()))
_BY_SIGNS = tuple((rule.signs.split(), rule.pattern) for rule in _RULES)
# What an f-string puts in is no value: the name that stands there is all that is written.
_AROUND_PUT_IN = re.compile(r"\{[\w.]{1,80}(?:\[[^\[\]{}]{0,40}\])?(?:![rsa])?\}")


def without_surrounded(text: str) -> str:
    lowered = text.lower()
    for signs, pattern in _BY_SIGNS:
        if any(sign in lowered for sign in signs):
            text = _compiled(pattern).sub(_without_value, text)
    return text


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE | re.DOTALL)


def _without_value(match: re.Match[str]) -> str:
    value, start = match["value"], match.start()
    called = "(" in value and not match.groupdict().get("quote")
    if called or value.lower() in {*SCHEMES, "none"} or _AROUND_PUT_IN.fullmatch(value):
        return match[0]
    return f"{match[0][: match.start('value') - start]}{SECRET}{match[0][match.end('value') - start :]}"
