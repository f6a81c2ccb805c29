"""Keys, tokens and passwords out of whatever is written: by the names they go by, and by their own look.

A name is sure (`api_key`, `--password`), or it is a hint (`sort_key`, `pad_token`): under a hint only what
looks like a random string goes. What is well known to be a secret by its form goes wherever it stands, and
so does what once stood under a sure name.
"""

from __future__ import annotations

import dataclasses
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from torch_debugger.system import secret_names as forms
from torch_debugger.system import secret_texts as around
from torch_debugger.system.secret_names import (
    SECRET,
    Strength,
    is_pin,
    is_plural,
    is_remembered_in,
    is_secret,
    is_secret_name,
    known_forms,
    looks_random,
    remember,
    strength,
    without_remembered,
)
from torch_debugger.system.secret_texts import redact_named, without_surrounded

__all__ = [
    "SECRET",
    "is_secret_name",
    "may_hold_secrets",
    "read_script",
    "redact_arguments",
    "redact_message",
    "redact_plain",
    "redact_record",
    "redact_text",
    "redact_value",
]


# Values by name, JSON and records, made again without their secrets.
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
        values = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
        redacted = {name: _field(name, value) for name, value in values.items()}
        return dataclasses.replace(record, **redacted)
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


# A command line without its secrets.
_SETTING = re.compile(r"(?P<name>[\w.@/+~-]{1,200})(?P<sign>=|:(?=\S))(?P<value>.+)", re.DOTALL)
# Programs whose `-p` is a password, and the word that has to stand among theirs.
_PROGRAMS = {
    "sshpass": "sshpass",
    **dict.fromkeys(("docker", "podman", "nerdctl", "helm", "oras", "az"), "login"),
}
_LOGINS = ("login", "user", "username")
_MANY = 1000
# add_argument("-k", "--api-key"), as argparse, click and typer have it, in either order.
_SHORT_FIRST = re.compile(r"['\"](?P<short>-\w)['\"]\s{0,40},\s{0,40}['\"](?P<long>--[\w-]{1,80})['\"]")
_LONG_FIRST = re.compile(r"['\"](?P<long>--[\w-]{1,80})['\"]\s{0,40},\s{0,40}['\"](?P<short>-\w)['\"]")


def redact_arguments(words: Sequence[str], source: str = "") -> tuple[str, ...]:
    """`--api-key X`, `--token=X`, `wandb.key=X`, and what is a secret by its form.

    The script's source tells the short names of options: `-k` may be `--api-key`.
    """
    long_names = _long_names(source)
    kept: list[str] = []
    at = _place_of_password(words)
    follows, most = "", 0  # the option whose value the next word is, and of how many words
    for place, word in enumerate(words):
        names = long_names | ({"-p": "--password"} if place == at else {})
        attached = names.get(word[:2], "") if len(word) > 2 else ""
        setting = _SETTING.fullmatch(word)
        if most and not (word.startswith("--") and word[2:3].isalpha()):
            kept.append(redact_value(follows, word))
            most -= 1
            continue
        most = 0
        if attached and not word.startswith("--"):
            kept.append(word[:2] + str(redact_value(attached, word[2:])))
        elif setting is not None and _is_setting(setting):
            kept.append(setting["name"] + setting["sign"] + redact_value(setting["name"], setting["value"]))
        else:
            kept.append(redact_text(word))
            follows = names.get(word, word)
            most = _words_of(follows)
    return tuple(kept)


def _is_setting(setting: re.Match[str]) -> bool:
    known = known_forms().search(setting.string) if may_hold_secrets(setting.string) else None
    if known is not None and known.start() < setting.end("name"):
        return False  # a secret that has such a sign inside
    return setting["sign"] == "=" or strength(setting["name"]) >= Strength.SOFT


def _words_of(option: str) -> int:
    """How many words may be this option's: --api-keys A B C, --auth USER PASSWORD."""
    if not option.startswith("-"):
        return 0
    level = strength(option)
    if option.endswith("s") and level:
        return _MANY
    pair = level == Strength.BARE and option.endswith("auth")
    plain = option.lstrip("-")
    return 2 if pair else int(bool(level) or plain.lower() in _LOGINS or is_pin(plain, "0000"))


def _place_of_password(words: Sequence[str]) -> int:
    """Where `-p` stands in `sshpass -p X ssh -p 22`, in `docker login -p X`: the first one, before any program
    that it starts."""
    for start, word in enumerate(words):
        needed = _PROGRAMS.get(word.rsplit("/", 1)[-1])
        if needed is None:
            continue
        for place, later in enumerate(words[start + 1 :], start + 1):
            if later.startswith("-p"):
                return place if needed == "sshpass" or needed in words[start:place] else -1
            if needed == "sshpass" and not later.startswith("-"):
                return -1
        break  # no such option stands behind a later program either
    return -1


def _long_names(source: str) -> dict[str, str]:
    """Those of the short options whose value is a secret."""
    found = [match for pattern in (_SHORT_FIRST, _LONG_FIRST) for match in pattern.finditer(source)]
    return {match["short"]: match["long"] for match in found if strength(match["long"]) >= Strength.BARE}


# Source, diffs, messages and tracebacks without their secrets.
_TEXTS_LOGIN = re.compile(r"(?P<before>://[^/\s:@'\"]{0,200}:)[^/\s@'\"]{1,300}(?P<after>@)")

# Text without any of these, or of those of the rules, holds nothing that the patterns find.
_SIGNS = (
    "key", "token", "secret", "pass", "pwd", "credential", "creds", "auth", "login",
    "cookie", "jwt", "bearer", "://", "signature", "pw",
    *around.CONTEXT_SIGNS, *forms.FORM_SIGNS, *forms.PASSWORD_SIGNS,
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
    text = known_forms().sub(SECRET, without_remembered(text))
    text = _TEXTS_LOGIN.sub(rf"\g<before>{SECRET}\g<after>", text)
    return redact_named(without_surrounded(text), message=message)


# The text of a script: it tells what its options are called.
_READ_BYTES = 16_000_000  # a script that is longer is none


def read_script(path: str) -> bytes:
    """A plain file's bytes: what comes through a pipe is the script's to read."""
    with suppress(OSError, ValueError):
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as file:
                return file.read(_READ_BYTES)
    return b""
