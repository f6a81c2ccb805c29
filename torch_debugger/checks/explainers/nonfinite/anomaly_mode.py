"""What torch's own anomaly mode says when it ends a backward: the node, and no more."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text
from torch_debugger.records import CrashFact

_MESSAGE = re.compile(r"^Function '(\w+)' returned nan values in its (\d+)th output")
_ENGINE = ("autograd/graph.py", "autograd/__init__.py")
# Ops whose slope is not finite somewhere, and where.
_EDGES = {
    "sqrt": "sqrt has an infinite slope at 0", "rsqrt": "rsqrt has no slope at 0", "log": "log has none at 0",
    "log2": "log2 has none at 0", "log10": "log10 has none at 0", "div": "a division has none where it is by 0",
    "norm": "a norm has no slope at 0", "linalgvectornorm": "a norm has no slope at 0",
    "pow": "a power below 1 has an infinite slope at 0", "std": "std has no slope where all values are equal",
    "atan2": "atan2 has no slope at the origin", "acos": "acos has an infinite slope at 1 and -1",
    "asin": "asin has an infinite slope at 1 and -1", "cdist": "a distance has no slope where it is 0",
    "exp": "exp overflows", "mul": "0 times inf is NaN: an op behind it has an infinite slope",
    "logsoftmax": "a row that is -inf as a whole has no softmax",
    "softmax": "a row that is -inf as a whole has no softmax",
}  # fmt: skip


def explain_anomaly(crash: CrashFact) -> Blame | None:
    match = _MESSAGE.match(crash.message)
    files = [frame.file for frame in crash.frames]
    if match is None or (files and not any(file.endswith(_ENGINE) for file in files)):
        return None
    return anomaly_blame(crash, match[1], int(match[2]))


def anomaly_blame(crash: CrashFact, node: str, output: int) -> Blame:
    op = re.sub(r"Backward\d*$", "", node)
    custom = node.endswith("Backward")  # of a Function of the user's own; torch's are numbered
    edge = _EDGES.get(op.lower(), "")
    why = f"{edge[:1].upper()}{edge[1:]}. " if edge else ""
    where = f"the backward of your own Function `{op}`" if custom else f"the backward of `{op.lower()}`"
    return Blame(
        message=f"Autograd's anomaly mode ended the script: {where} (`{node}`) made a NaN, in the "
        "gradient of its "
        f"input {output + 1}.",
        why=f"{why}Anomaly mode names the first node whose gradients hold NaN; an inf before "
        "it goes unnoticed, so the "
        "op at fault may be the one that ran after it in the forward.",
        fix="Run the script with `torch-debugger run`: it runs the step again and names the "
        "op, its line and its "
        "numbers. A mask on the result does not help: 0 times NaN is NaN; keep the op's "
        "input inside its range.",
        where=crash.place,
        evidence={
            "node": node,
            "output": output,
            **({"line": line_text(crash.place)} if crash.place.file else {}),
        },
        confidence=0.8,
    )
