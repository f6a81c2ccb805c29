"""User text made safe to show: a module may be named after an escape sequence."""

from __future__ import annotations

import unicodedata

# Control characters, surrogates, foreign line ends, and format characters that reorder or hide text.
_UNSAFE = ("Cc", "Cs", "Cf", "Zl", "Zp")
_JOINER = "\u200d"  # holds composed characters together and hides nothing


def printable(text: str) -> str:
    """The text with tabs widened and every character that could steer a terminal written out."""
    return "".join(_shown(character) for character in text.expandtabs(4))


def one_line(text: str) -> str:
    """Printable, with all white space drawn together: for sentences and names."""
    return printable(" ".join(text.split()))


def _shown(character: str) -> str:
    if unicodedata.category(character) in _UNSAFE and character != _JOINER:
        return character.encode("unicode_escape").decode("ascii")
    return character
