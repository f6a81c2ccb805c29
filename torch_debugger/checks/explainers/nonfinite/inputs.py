"""NaN and Inf that came in with the data."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.nonfinite.case import Story
from torch_debugger.checks.explainers.nonfinite.wording import share
from torch_debugger.records import Operand, Origin

_LABEL = re.compile(r"(?:^|[^a-z])(?:y|ys|targets?|labels?|truth|gt)(?:$|[^a-z])", re.IGNORECASE)
_SHOWN = 3


def explain_input(origin: Origin) -> Story:
    name = f"`{origin.given}`" if origin.given else "a tensor of the batch"
    where = _where(origin)
    proof = f"{_held(origin.operands[0], name) if origin.operands else f'{name} is not finite'}{where}"
    if origin.given and _LABEL.search(origin.given):
        why = "It is in the data, not made by an op: a loss of a target that is not finite is not finite."
        fix = (
            f"{_look(origin)} Leave samples without a label out: `ok = torch.isfinite({origin.given})`, and "
            "take the loss over `ok` alone."
        )
    else:
        why = "It is in the data, not made by an op: whatever is computed from it is not finite either."
        fix = f"{_look(origin)} Drop such samples, or fill the gaps where the data is loaded."
    return Story(proof, why, fix)


def _held(operand: Operand, name: str) -> str:
    """3 of 640 values of `x` are NaN"""
    kinds = [(count, word) for count, word in ((operand.nans, "NaN"), (operand.infs, "Inf")) if count]
    told = [share(count, operand, name, word) for count, word in kinds]
    return " and ".join(told) or f"{name} is not finite"


def _where(origin: Origin) -> str:
    rows = f", in {_listed('row', origin.rows)} of the batch" if origin.rows else ""
    return rows + (f" ({_listed('sample', origin.samples)} of the dataset)" if origin.samples else "")


def _listed(word: str, numbers: tuple[int, ...]) -> str:
    """row 2; rows 2, 5 and 9; rows 2, 5, 9 and more"""
    if len(numbers) == 1:
        return f"{word} {numbers[0]}"
    shown = [str(number) for number in numbers[:_SHOWN]]
    if len(numbers) > _SHOWN:
        return f"{word}s {', '.join(shown)} and more"
    return f"{word}s {', '.join(shown[:-1])} and {shown[-1]}"


def _look(origin: Origin) -> str:
    if origin.samples:
        return f"Look at {_listed('sample', origin.samples)} of the dataset (`dataset[{origin.samples[0]}]`)."
    flat = bool(origin.operands) and len(origin.operands[0].shape) == 1
    return f"Find them with `torch.isfinite({origin.given or 'x'}){'' if flat else '.flatten(1).all(1)'}`."
