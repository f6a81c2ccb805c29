"""The small language of conditions, as it is written: `nan(output) and step > 100`, `EXPR @ GLOB`.

No torch in here: the command line refuses a bad condition before the script starts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch_debugger.breakpoints.reading import ConditionError, Reader
from torch_debugger.breakpoints.tree import Call, Name, Node, parts_of


@dataclass(frozen=True)
class Condition:
    """What was written, and what it means."""

    text: str
    tree: Node
    names: frozenset[str]


def parse_condition(text: str) -> Condition:
    """'norm(grad) > 100' -> its tree; ConditionError where it makes no sense."""
    clean = " ".join(str(text).splitlines()).strip()
    tree = Reader(clean).read()
    names = frozenset(part.word for part in parts_of(tree) if isinstance(part, Name))
    asked = {"weight" for part in parts_of(tree) if isinstance(part, Call) and part.function == "parameter"}
    return Condition(clean, tree, names | asked)


def parse_break(text: str) -> tuple[Condition, str | None]:
    """'EXPR @ GLOB' as on the command line -> the condition, and which modules are meant."""
    match = re.fullmatch(r"(.*?)(?:@([^@'\"]*))?", " ".join(text.splitlines()))
    assert match is not None
    expression, glob = match.group(1), match.group(2)
    if glob is not None and not glob.strip():
        raise ConditionError(f"After @ stands which modules are meant, such as `encoder.*`: {text!r}.")
    return parse_condition(expression), glob.strip() if glob is not None else None
