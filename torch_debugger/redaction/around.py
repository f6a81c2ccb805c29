"""Secrets by what stands around them, a line each: the place, what stands in a text with one, the pattern.

The secret is the group `value` of the pattern. Every repetition is bounded, as those of the known forms are. A
rule is tried only where one of its signs stands, in either case; here they are in lower case.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torch_debugger.redaction.looks import SCHEMES, SECRET


class Around(NamedTuple):
    where: str
    signs: str
    pattern: str  # verbose


# What follows an option: `-p X`, `--password=X`, and `"-p", "X"` of a list of words.
_THEN = r"(?:\s{1,4}|=|['\"],\s{0,40})"
_WORD = r"(?P<quote>['\"])?(?P<value>(?(quote)(?:(?!(?P=quote))[^\n]){1,300}|[^\s'\"]{1,300}))"
_ON = r"(?:[^\n]|(?<=[\\,])\n)"  # a command that goes on in the next line
# Of a call: any first argument, then a text.
_TEXT = r"[bBfFrRuU]{0,2}(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')"
_FIRST = rf"(?:{_TEXT}|[\w.]{{1,100}}(?:\([^()\n]{{0,80}}\)|\[[^\[\]\n]{{0,80}}\])?)\s{{0,9}},\s{{0,40}}"
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

SIGNS = tuple(dict.fromkeys(sign for rule in _RULES for sign in rule.signs.split()))
_COMPILED = tuple((rule.signs.split(), re.compile(rule.pattern, re.VERBOSE | re.DOTALL)) for rule in _RULES)
# What an f-string puts in is no value: the name that stands there is all that is written.
_PUT_IN = re.compile(r"\{[\w.]{1,80}(?:\[[^\[\]{}]{0,40}\])?(?:![rsa])?\}")


def without_surrounded(text: str) -> str:
    lowered = text.lower()
    for signs, pattern in _COMPILED:
        if any(sign in lowered for sign in signs):
            text = pattern.sub(_without_value, text)
    return text


def _without_value(match: re.Match[str]) -> str:
    value, start = match["value"], match.start()
    called = "(" in value and not match.groupdict().get("quote")
    if called or value.lower() in {*SCHEMES, "none"} or _PUT_IN.fullmatch(value):
        return match[0]
    return f"{match[0][: match.start('value') - start]}{SECRET}{match[0][match.end('value') - start :]}"
