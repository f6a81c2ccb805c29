"""Source, diffs, messages and tracebacks without their secrets."""

from __future__ import annotations

import re

from torch_debugger.redaction.forms import KNOWN_FORMS, SIGNS
from torch_debugger.redaction.looks import SECRET
from torch_debugger.redaction.named_texts import redact_named
from torch_debugger.redaction.remembered import is_remembered_in, without_remembered

_LOGIN = re.compile(r"(?P<before>://[^/\s:@'\"]{0,200}:)[^/\s@'\"]{1,300}(?P<after>@)")
_LOGIN_ALONE = re.compile(r"(?P<before>://)(?P<value>[^/\s:@'\"]{16,300})(?P<after>@)")
_HEADER = re.compile(
    r"(?P<before>authorization['\"]?\s{0,9}[:=,]\s{0,9}[fFrRbB]?['\"]?(?:bearer|basic|token)?\s{0,9})"
    r"(?P<value>[\w.~+/=-]{6,})(?P<after>)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"(?P<before>\b[Bb]earer\s{1,9})(?P<value>[\w.~+/=-]{16,})(?P<after>)")
# curl -u user:password, mysql -ppassword, sshpass -p password
_COMMAND = re.compile(
    r"(?P<before>\bcurl\b[^\n]{0,200}?\s(?:-u|--user|--proxy-user)[\s=]{1,4}['\"]?[^\s:'\"]{1,100}:"
    r"|\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,200}?\s-p(?=\S)['\"]?"
    r"|\bsshpass\s{1,4}-p\s{0,4}['\"]?)"
    r"(?P<value>[^\s'\"]{1,300})(?P<after>)"
)
# "the password is X", in a comment or a message
_SAID = re.compile(
    r"(?P<before>\b(?:password|passwd|passphrase|passcode|pwd|token|secret|api key|apikey)"
    r"\s{1,4}(?:is|was)\s{0,4}[:=]?\s{0,4}['\"`]?)(?P<value>(?=[^\s'\"`]{0,100}\d)[^\s'\"`,;)]{6,200})(?P<after>)",
    re.IGNORECASE,
)

# Text without any of these, or of those of known forms, holds nothing that the patterns find.
_SIGNS = (
    "key", "token", "secret", "pass", "pwd", "credential", "creds", "auth", "login",
    "cookie", "jwt", "bearer", "://", "signature", "pw", "curl ", "mysql", "-p ",
    *SIGNS,
)  # fmt: skip


def redact_text(text: str) -> str:
    """Source, a diff, a traceback: all of it but the secrets."""
    return _redacted(text, message=False)


def redact_message(text: str) -> str:
    """What a program says: `password=x` there is no code that names a variable."""
    return _redacted(text, message=True)


def may_hold_secrets(text: str) -> bool:
    """Quick, and never wrong when it says no."""
    lowered = text.lower()
    return any(sign in lowered for sign in _SIGNS) or is_remembered_in(text)


def _redacted(text: str, *, message: bool) -> str:
    if not may_hold_secrets(text):
        return text
    text = KNOWN_FORMS.sub(SECRET, without_remembered(text))
    text = _LOGIN.sub(rf"\g<before>{SECRET}\g<after>", text)
    for pattern in (_LOGIN_ALONE, _HEADER, _SCHEME, _COMMAND, _SAID):
        text = pattern.sub(_without_value, text)
    return redact_named(text, message=message)


def _without_value(match: re.Match[str]) -> str:
    told = match["value"].lower() in ("bearer", "basic", "token", "none") or "(" in match["value"]
    return match[0] if told else f"{match['before']}{SECRET}{match['after']}"
