"""Values by name, JSON and records, made again without their secrets."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from torch_debugger.redaction.looks import SECRET, is_secret, looks_random
from torch_debugger.redaction.names import Strength, is_pin, is_plural, strength
from torch_debugger.redaction.remembered import remember
from torch_debugger.redaction.texts import redact_message, redact_text

_LOGIN_NAME = re.compile(r"(?:.*[^A-Za-z])?(?:login|user|username|userpwd)", re.IGNORECASE)
_LOGIN = re.compile(r"(?P<user>[^:/\s]{1,100}:)(?P<password>[^/\s][^\s]{2,300})")


def redact_value(name: str, value: Any) -> Any:
    """A value the user's program holds under a name; one that is a secret is replaced."""
    level = strength(name)
    if type(value) is str:
        if is_secret(name, level, value) or is_pin(name, value):
            return _hidden(level, value)
        return _without_password(name, redact_text(value))
    counted = is_plural(name) or type(value) not in (int, float)
    hidden = level == Strength.SURE and not counted
    return SECRET if hidden or (type(value) is int and is_pin(name, value)) else value


def redact_plain(plain: Any) -> Any:
    """JSON values, however deep; the keys of dictionaries are the names."""
    if isinstance(plain, dict):
        return {key: _named(str(key), value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [redact_plain(item) for item in plain]
    return redact_text(plain) if isinstance(plain, str) else plain


def redact_record(record: Any) -> Any:
    """A dataclass with all that it holds, made again without secrets."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        held = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
        told = {name: _field(name, value) for name, value in held.items()}
        return dataclasses.replace(record, **told)
    if isinstance(record, tuple | list):
        return type(record)(map(redact_record, record))
    return redact_plain(record) if isinstance(record, dict | str) else record


def _field(name: str, value: Any) -> Any:
    return redact_message(value) if name == "message" and isinstance(value, str) else redact_record(value)


def _named(name: str, value: Any) -> Any:
    level = strength(name)
    if isinstance(value, dict | list | tuple):
        return _all_hidden(value) if level == Strength.SURE else redact_plain(value)
    # A record's own field may be called key; only a sure name, or a value that looks it, counts here.
    if level == Strength.BARE and isinstance(value, str) and not looks_random(value):
        return redact_text(value)
    return redact_value(name, value)


def _all_hidden(value: Any) -> Any:
    """All that lies under a sure name, however deep."""
    if isinstance(value, dict):
        return {key: _all_hidden(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_all_hidden(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    return _hidden(Strength.SURE, value) if isinstance(value, str) else SECRET


def _hidden(level: Strength, value: str) -> str:
    if level >= Strength.SOFT or any(map(str.isdigit, value)):
        remember(value)
    return SECRET


def _without_password(name: str, value: str) -> str:
    """--login bob:hunter2"""
    login = _LOGIN.fullmatch(value) if _LOGIN_NAME.fullmatch(name[-100:]) else None
    if login is None or SECRET in value:
        return value
    remember(login["password"])
    return f"{login['user']}{SECRET}"
