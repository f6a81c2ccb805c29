"""How much a name says about what it holds: `api_key` all, `sort_key` a little, `lr` nothing."""

from __future__ import annotations

import functools
import re
from enum import IntEnum

from torch_debugger.redaction.languages import in_english


class Strength(IntEnum):
    PLAIN = 0
    HINT = 1  # sort_key, pad_token: only what looks random is a secret
    BARE = 2  # key, token, auth, pass
    SOFT = 3  # user_key, secret_env: a secret, unless it reads like a label or a number
    SURE = 4


_ALONE = {
    "password", "passwords", "passwd", "pwd", "pw", "passphrase", "passcode", "secret", "secrets",
    "credential", "credentials", "creds", "apikey", "apikeys", "authorization", "cookie", "cookies", "jwt",
    "bearer",
}  # fmt: skip
_ENDS = ("password", "passwords", "passwd", "passphrase", "secret", "apikey")  # clientsecret, dbpassword
_OWNERS = {
    "api", "access", "secret", "private", "encryption", "encrypt", "signing", "ssh", "auth", "oauth",
    "deploy", "security", "personal", "refresh", "bearer", "login", "license", "webhook", "hf", "hub",
    "huggingface", "wandb", "openai", "anthropic", "comet", "neptune", "mlflow", "clearml", "aim", "gh",
    "github", "gitlab", "slack", "discord", "telegram", "aws", "azure", "gcp", "google", "gemini",
    "cohere", "mistral", "okta", "replicate", "kaggle", "dagshub", "redis", "s3", "ngc", "nvidia", "jwt",
}  # fmt: skip
_LIKELY_OWNERS = {
    "account", "admin", "app", "bot", "client", "database", "db", "git", "master", "root", "service",
    "session", "storage", "user",
}  # fmt: skip
_PASS_OWNERS = _LIKELY_OWNERS | {
    "email", "ftp", "imap", "login", "mail", "mysql", "pg", "postgres", "redis", "smtp", "ssh",
}  # fmt: skip
_BEGINNINGS = {"secret", "password", "passwd", "credential", "credentials", "apikey"}
_FILES = {"json", "py", "toml", "txt", "yaml", "yml"}
_ABOUT = _FILES | {  # a secret's length is none, nor is the file it lies in
    "count", "dim", "dir", "field", "file", "filename", "folder", "id", "len", "length", "limit", "name",
    "names", "path", "size", "type", "url",
}  # fmt: skip
_PIN = re.compile(r"(?:.*[^A-Za-z])?(?i:pin(?:[_-]?code)?)|.*[a-z]Pin(?:Code)?", re.DOTALL)
_FILLERS = {"value", "values", "str", "string", "text", "raw", "default", "plain"}
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FEWEST_DIGITS = 3
_TELLING = re.compile(r"key|token|secret|pass|pwd?|cred|auth|cookie|jwt|bearer|signature", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether a text that goes by this name is a secret, whatever it looks like."""
    return strength(name) >= Strength.SOFT


def is_plural(name: str) -> bool:
    """`access_tokens = 7` counts them."""
    return (_words(name) or [""])[-1].endswith("s")


def is_pin(name: str, value: object) -> bool:
    """`pin = 1234`: a few digits and nothing else. `pin = 4` is one of a plug, `pin = "9f8e7d6c"` a version."""
    if isinstance(value, int):  # Python writes no number of thousands of digits as a text
        few = 1_000 <= value < 10**12
    else:
        few = isinstance(value, str) and re.fullmatch(r"\d{4,12}", value) is not None
    return few and _PIN.fullmatch(name[-80:]) is not None


def is_secret_number(name: str, digits: str) -> bool:
    """`password = 3466439456`. A token that is a number is one of a vocabulary."""
    counts = is_plural(name) or (_words(name) or [""])[-1].endswith("token")
    return len(digits) >= _FEWEST_DIGITS and strength(name) == Strength.SURE and not counts


@functools.lru_cache(maxsize=16384)
def strength(name: str) -> Strength:
    name = in_english(name)
    if not _TELLING.search(name):
        return Strength.PLAIN
    words = _words(name)
    last = (words or [""])[-1]
    above = name.split(".")[:-1]  # secrets.wandb: all that lies under a sure name
    if last not in _FILES and any(_strength_of(_words(part)) == Strength.SURE for part in above):
        return Strength.SURE
    return Strength.PLAIN if last in _ABOUT else _strength_of(words)


def _words(name: str) -> list[str]:
    words = [word.lower() for word in _WORDS.findall(in_english(name))]
    while words and (words[-1] in _FILLERS or words[-1].isdigit()):
        words.pop()
    if words[-3:] in (["access", "key", "id"], ["secret", "key", "id"]):
        words.pop()
    return words


def _strength_of(words: list[str]) -> Strength:
    last, before = (words or [""])[-1], "".join(words[-2:-1])
    kind = next((kind for kind in ("keys", "key", "tokens", "token", "pass") if last.endswith(kind)), "")
    owner = last.removesuffix(kind) or before
    owners, likely = (_PASS_OWNERS, set()) if kind == "pass" else (_OWNERS, _LIKELY_OWNERS)
    if last in _ALONE or last.endswith(_ENDS) or (kind and owner in owners):
        return Strength.SURE
    if words in (["key"], ["token"], ["auth"], ["pass"]):
        return Strength.BARE
    begins = _BEGINNINGS.intersection(words[:-1]) or "api key" in " ".join(words[:-1])
    if begins or (kind and owner in likely):
        return Strength.SOFT
    return Strength.HINT if kind not in ("", "pass") or last in ("auth", "signature") else Strength.PLAIN
