"""A command line without its secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch_debugger.redaction.forms import KNOWN_FORMS
from torch_debugger.redaction.names import Strength, is_pin, strength
from torch_debugger.redaction.texts import may_hold_secrets, redact_text
from torch_debugger.redaction.values import redact_value

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
    known = KNOWN_FORMS.search(setting.string) if may_hold_secrets(setting.string) else None
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
