"""Which letters each letter looks at, by layer and head.

Each row is a letter, and the bright columns are the ones it takes from; what lies to the right of it is
hidden from it. Heads that all look alike could be one.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(letters: Any, tokens: Any, sentence: Any) -> Any:
    return pictures.attention(letters, tokens[:, :20], tokens=list(sentence[:20]), layers="blocks.0*")
