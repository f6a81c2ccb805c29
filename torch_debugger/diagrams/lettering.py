"""How wide a text will be, without a font to ask: a little wider than any common one draws it."""

from __future__ import annotations

import html
import unicodedata

_WIDTHS = (  # in parts of the letter size, by DejaVu Sans, the widest that is common
    (" .,:;'|!ijlI[]()", 0.36),
    ('ftr-/\\"{}', 0.43),
    ("mwMW@%", 0.98),
    ("ABCDEFGHJKLNOPQRSTUVXYZ_&<>=+~#", 0.76),
)
_WIDTH = {letter: width for letters, width in _WIDTHS for letter in letters}
_OTHER = 0.64
_BOLD = 1.1


def text_width(text: str, size: float, bold: bool = False) -> float:
    total = sum(_WIDTH.get(letter) or _width(letter) for letter in text)
    return total * size * (_BOLD if bold else 1.0)


def _width(letter: str) -> float:
    return 1.05 if unicodedata.east_asian_width(letter) in "WF" else _OTHER


def shortened(text: str, most: int) -> str:
    """Both ends of a long text."""
    if len(text) <= most:
        return text
    kept = most - 3
    return f"{text[: kept - kept // 2]}...{text[-(kept // 2) :]}"


def escaped(text: str) -> str:
    """For SVG and HTML."""
    return html.escape(visible(text))


def visible(text: str) -> str:
    """XML and terminals take no control characters, and a module may be named after one."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
