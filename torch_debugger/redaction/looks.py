"""What a text looks like by itself: a random string, a label, a path, a well-known kind of secret."""

from __future__ import annotations

import math
import re
from collections import Counter

from torch_debugger.redaction.names import Strength

SECRET = "[secret]"
_HARMLESS = {"", "true", "false", "none", "null", "yes", "no", "on", "off", SECRET}
SCHEMES = {"bearer", "basic", "token", "ssws"}  # of a header: the secret stands behind them
_WORDS = re.compile(r"[a-z]+(?:[_/.][a-z]+)+|[A-Z]+(?:_[A-Z]+)+")  # val_loss, OPENAI_API_KEY
_MARK = re.compile(r"[<\[]\|?/?[\w-]{1,30}\|?[>\]]")  # <|user|>, [CLS]
_PATH = re.compile(r"(?:[~.]{0,2}/|[A-Za-z]:\\)")


def is_secret(name: str, level: Strength, value: str) -> bool:
    """Whether a text that goes by a name of this strength is to be hidden."""
    if not level or value.lower() in _HARMLESS:
        return False
    if level == Strength.SURE:
        return not (name.lower().endswith(("pwd", "pw")) and _PATH.match(value))
    if level in (Strength.SOFT, Strength.BARE):
        return not (is_label(name, value) or value.isdigit())
    return looks_random(value)


def is_label(name: str, value: str) -> bool:
    """user_key = "user_id", bot_token = "<|bot|>": words with something between, or a mark of a vocabulary."""
    return len(value) <= 60 and bool(
        _WORDS.fullmatch(value) or ("token" in name.lower() and _MARK.fullmatch(value))
    )


def looks_random(value: str) -> bool:
    """Long, of one piece, letters and digits mixed, no path, no two letters alike beyond chance."""
    if len(value) < 16 or not re.fullmatch(r"[A-Za-z0-9+/=_.~:-]+", value) or value.count("/") > 3:
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits > 3.0 and any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and value[0] not in "./"


def is_no_word(value: str) -> bool:
    """`password: hunter22`, and not `password: str` nor `password: config2.password`."""
    dotted = re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value)
    return len(value) >= 8 and any(map(str.isdigit, value)) and not dotted
