"""Which letters of the data excite one unit most.

Each line is an example, the framed letter the one where the unit is strongest, and blue how strong it is
elsewhere. Look for what the framed letters and those before them have in common.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(letters: Any, sentences: Any, alphabet: Any) -> Any:
    return pictures.top_examples(letters, sentences, "blocks.0.mlp.1", 17, count=6, words=alphabet)
