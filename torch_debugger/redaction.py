"""Keys, tokens and passwords out of whatever is written: by the names they go by, and by their own look.

A name is sure (`api_key`, `--password`), or it is a hint (`sort_key`, `pad_token`): under a hint only what
looks like a random string goes. What is well known to be a secret by its form goes wherever it stands.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

SECRET = "[secret]"

_SURE, _BARE, _HINT, _PLAIN = 3, 2, 1, 0  # how much a name says
_ALONE = {
    "password", "passwords", "passwd", "pwd", "pw", "passphrase", "passcode", "secret", "secrets",
    "credential", "credentials", "creds", "apikey", "apikeys", "authorization", "cookie", "cookies", "jwt",
    "bearer",
}  # fmt: skip
_OWNERS = {
    "api", "access", "secret", "private", "encryption", "encrypt", "signing", "ssh", "auth", "oauth",
    "account", "storage", "master", "deploy", "service", "client", "session", "security", "personal",
    "refresh", "bearer", "login", "license", "admin", "root", "user", "bot", "webhook", "hf", "hub",
    "huggingface", "wandb", "openai", "anthropic", "comet", "neptune", "mlflow", "clearml", "aim", "gh",
    "git", "github", "gitlab", "slack", "discord", "telegram", "aws", "azure", "gcp", "google", "gemini",
    "cohere", "mistral", "replicate", "kaggle", "dagshub", "db", "database", "redis", "s3", "ngc", "nvidia",
    "app", "jwt",
}  # fmt: skip
_NUMBERED = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TELLING = re.compile(r"key|token|secret|pass|pwd?|cred|auth|cookie|jwt|bearer|signature", re.IGNORECASE)
_FILLERS = {"value", "values", "str", "string", "text", "raw", "default", "plain"}
_HARMLESS = {"", "true", "false", "none", "null", "yes", "no", "on", "off"}

# Secrets by their own form.
_KNOWN = re.compile(
    r"""-----BEGIN[A-Z ]*PRIVATE\ KEY-----.*?(?:-----END[A-Z ]*PRIVATE\ KEY-----|\Z)
    |(?<![A-Za-z0-9])(?<!\w-)(?:
     hf_[A-Za-z0-9]{20,} |api_org_[A-Za-z0-9]{20,}
    |sk-(?=[\w-]{0,200}\d)[\w-]{16,} |[rs]k_(?:live|test)_\w{10,}
    |gh[pousr]_[A-Za-z0-9]{20,} |github_pat_\w{20,} |glpat-[\w-]{16,}
    |A[KS]IA[A-Z0-9]{16} |AIza[\w-]{30,} |ya29\.[\w-]{20,} |GOCSPX-[\w-]{20,}
    |xox[abeoprs]-[\w-]{10,} |npm_[A-Za-z0-9]{30,} |pypi-[\w-]{30,} |r8_[A-Za-z0-9]{30,}
    |wandb_v\d_\w{20,} |SG\.[\w-]{16,}\.[\w-]{16,} |dop_v1_[a-f0-9]{40,}
    |eyJ[\w-]{10,2000}\.[\w-]{5,4000}\.[\w-]* )
    |(?<=hooks\.slack\.com/services/)[\w/]+ |(?<=/api/webhooks/)[\w/-]+""",
    re.VERBOSE | re.DOTALL,
)
_LOGIN = re.compile(r"(?P<before>://[^/\s:@'\"]*:)[^/\s@'\"]+(?P<after>@)")
_LOGIN_ALONE = re.compile(r"(?P<before>://)(?P<value>[^/\s:@'\"]{16,})(?P<after>@)")
_HEADER = re.compile(
    r"(?P<before>authorization['\"]?\s*[:=,]\s*[fFrRbB]?['\"]?(?:bearer|basic|token)?\s*)(?P<value>[\w.~+/=-]{6,})",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"(?P<before>\b[Bb]earer\s+)(?P<value>[\w.~+/=-]{16,})")

# A name, what stands between, and a value. The name may be a subscript, a keyword, a key, an option.
_WORD = r"[A-Za-z_][\w.-]{0,80}"
_NAME = rf"(?P<name>(?<![\w.]){_WORD})"
_TEXT = r"[A-Za-z]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
_QUOTED = re.compile(
    rf"{_NAME}(?P<between>['\"]?\s*\]?\s*(?:(?::\s*[\w.\[\]| ]+)?=|:|,|=>)[\s(]*)"
    rf"(?P<value>{_TEXT}(?:[\s+\\-]*{_TEXT})*)",
    re.DOTALL,
)
_DEFAULT = re.compile(
    rf"['\"]--?{_NAME}(?P<between>['\"](?:(?!['\"]--).){{0,300}}?\bdefault\s*=\s*)(?P<value>{_TEXT})", re.DOTALL
)
_SETTING = re.compile(
    rf"^(?P<start>[+\- ]?\s*(?:export\s+|set\s+|ENV\s+)?){_NAME}(?P<between>=|:[ \t]+)"
    r"(?P<value>[^\s'\"(\[{]+)[ \t]*$",
    re.MULTILINE,
)
_OPTION = re.compile(rf"(?P<start>(?<![\w-])--?){_NAME}(?P<between>=|[ ]+)(?P<value>[^\s'\"]+)")
_QUERY = re.compile(rf"(?P<start>[?&;]){_NAME}(?P<between>=)(?P<value>[^\s&;'\"]+)")

# Text without any of these holds nothing that the patterns above find.
_SIGNS = (
    "key", "token", "secret", "passw", "pwd", "passphrase", "passcode", "credential", "creds", "auth",
    "cookie", "jwt", "bearer", "://", "hf_", "api_org_", "sk-", "_live_", "_test_", "ghp_", "gho_", "ghu_",
    "ghs_", "ghr_", "github_pat_", "glpat-", "akia", "asia", "aiza", "ya29.", "gocspx-", "xox", "npm_",
    "pypi-", "r8_", "wandb_v", "sg.", "dop_v1_", "eyj", "webhooks/", "hooks.slack", "signature", "pw",
)  # fmt: skip


def is_secret_name(name: str) -> bool:
    """Whether what goes by this name is a secret, whatever it looks like."""
    return _strength(name) == _SURE


def redact_value(name: str, value: Any) -> Any:
    """A value the user's program holds under a name; one that is a secret is replaced."""
    strength = _strength(name)
    if type(value) is str:
        sure = strength >= _BARE and value.lower() not in _HARMLESS
        return SECRET if sure or (strength and _looks_random(value)) else redact_text(value)
    return SECRET if strength == _SURE and type(value) in (int, float) else value


def redact_arguments(words: Sequence[str]) -> tuple[str, ...]:
    """A command line's words: `--api-key X`, `--token=X`, `wandb.key=X`, and what is a secret by its form."""
    kept: list[str] = []
    follows = ""  # the option whose value the next word is
    for word in words:
        name, equals, value = word.partition("=")
        if follows and not (word.startswith("--") and word[2:3].isalpha()):
            kept.append(redact_value(follows, word))
            follows = follows if follows.endswith("s") else ""  # --api-keys A B
        elif equals and re.fullmatch(r"[+~-]*[\w.@/-]+", name):
            kept.append(f"{name}={redact_value(name, value)}")
            follows = ""
        else:
            kept.append(redact_text(word))
            follows = name if word.startswith("-") and _strength(name) else ""
    return tuple(kept)


def redact_text(text: str) -> str:
    """Source, a diff, a message, a traceback: all of it but the secrets."""
    if not may_hold_secrets(text):
        return text
    text = _KNOWN.sub(SECRET, text)
    text = _LOGIN.sub(rf"\g<before>{SECRET}\g<after>", text)
    for pattern in (_LOGIN_ALONE, _HEADER, _SCHEME):
        text = pattern.sub(_if_random, text)
    for pattern in (_QUOTED, _DEFAULT):
        text = pattern.sub(_quoted, text)
    for pattern in (_SETTING, _OPTION, _QUERY):
        text = pattern.sub(_unquoted, text)
    return text


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
        return dataclasses.replace(record, **{name: redact_record(value) for name, value in held.items()})
    if isinstance(record, tuple | list):
        return type(record)(map(redact_record, record))
    return redact_plain(record) if isinstance(record, dict | str) else record


def may_hold_secrets(text: str) -> bool:
    """Quick, and never wrong when it says no."""
    lowered = text.lower()
    return any(sign in lowered for sign in _SIGNS)


def _named(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return redact_plain(value)
    # A record's own field may be called key; only a sure name, or a value that looks it, counts here.
    return redact_value(name, value) if _strength(name) != _BARE or _looks_random(value) else redact_text(value)


@functools.lru_cache(maxsize=4096)
def _strength(name: str) -> int:
    if not _TELLING.search(name):
        return _PLAIN
    words = [word.lower() for word in _NUMBERED.findall(name)]
    while words and (words[-1] in _FILLERS or words[-1].isdigit()):
        words.pop()
    if words[-3:] in (["access", "key", "id"], ["secret", "key", "id"]):
        words.pop()
    last, before = (words or [""])[-1], (words or [""])[-2:-1]
    kind = next((kind for kind in ("keys", "key", "tokens", "token") if last.endswith(kind)), "")
    if last in _ALONE or (
        kind and (last.removesuffix(kind) in _OWNERS or (last == kind and before and before[0] in _OWNERS))
    ):
        return _SURE
    if words in (["key"], ["token"], ["auth"]):
        return _BARE
    return _HINT if kind or last in ("auth", "signature") else _PLAIN


def _looks_random(value: str) -> bool:
    """Long, of one piece, letters and digits mixed, no path, no two letters alike beyond chance."""
    if len(value) < 16 or not re.fullmatch(r"[A-Za-z0-9+/=_.~:-]+", value) or value.count("/") > 3:
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits > 3.0 and any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and value[0] not in "./"


def _if_random(match: re.Match[str]) -> str:
    value = match["value"]
    told = value.lower() in ("bearer", "basic", "token", "none") or "(" in value
    after = match.groupdict().get("after", "")
    return match[0] if told else f"{match['before']}{SECRET}{after}"


def _quoted(match: re.Match[str]) -> str:
    names = [match["name"], *re.findall(_WORD, match["between"])]  # "refused: password='x'" is no annotation
    strength, value = max(map(_strength, names)), match["value"]
    inside = value.lstrip("bfrtuBFRTU").strip("'\"")
    if not inside or inside.startswith("-") or inside == SECRET:
        return match[0]
    if strength == _SURE or (strength and _looks_random(inside)):
        quote = '"' if '"' in value else "'"
        return match[0][: match.start("value") - match.start()] + f"{quote}{SECRET}{quote}"
    return match[0]


def _unquoted(match: re.Match[str]) -> str:
    strength, value = _strength(match["name"]), match["value"]
    equals = match["between"] == "="
    asked = equals and match["start"].startswith(("-", "?", "&", ";"))  # --token=X, ?key=X
    told = equals and match["name"].isupper()  # API_KEY=X, as shells write it
    sure = (strength >= _BARE and asked) or (strength == _SURE and (told or _is_no_word(value)))
    if value.startswith(SECRET) or "(" in value or not (sure or (strength and _looks_random(value))):
        return match[0]
    start, end = match.start("value") - match.start(), match.end("value") - match.start()
    return match[0][:start] + SECRET + match[0][end:]


def _is_no_word(value: str) -> bool:
    """`password: hunter22`, and not `password: str`."""
    return len(value) >= 8 and any(map(str.isdigit, value))
