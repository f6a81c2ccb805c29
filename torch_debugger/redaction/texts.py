"""Source, diffs, messages and tracebacks without their secrets."""

from __future__ import annotations

import re

from torch_debugger.redaction import around, forms, languages
from torch_debugger.redaction.around import without_surrounded
from torch_debugger.redaction.forms import KNOWN_FORMS
from torch_debugger.redaction.looks import SECRET
from torch_debugger.redaction.named_texts import redact_named
from torch_debugger.redaction.remembered import is_remembered_in, without_remembered

_LOGIN = re.compile(r"(?P<before>://[^/\s:@'\"]{0,200}:)[^/\s@'\"]{1,300}(?P<after>@)")

# Text without any of these, or of those of the rules, holds nothing that the patterns find.
_SIGNS = (
    "key", "token", "secret", "pass", "pwd", "credential", "creds", "auth", "login",
    "cookie", "jwt", "bearer", "://", "signature", "pw",
    *around.SIGNS, *forms.SIGNS, *languages.SIGNS,
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
    return redact_named(without_surrounded(text), message=message)
