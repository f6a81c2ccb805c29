"""The words of the condition language: which names and functions there are, and what each is about.

A kind is what a part of a condition stands for: a tensor (or several), a number, a truth, a text
or a shape. Kinds are known before anything runs, so a condition that makes no sense is refused
when it is written and not at step 500.
"""

from __future__ import annotations

from dataclasses import dataclass

TENSOR, NUMBER, TRUTH, TEXT, SHAPE = "a tensor", "a number", "a truth", "a text", "a shape"

NAMES: dict[str, str] = {
    "input": TENSOR,  # what the module was called with
    "output": TENSOR,  # what its forward gave
    "grad": TENSOR,  # the gradient that came back to its output
    "weight": TENSOR,
    "bias": TENSOR,
    "module": TEXT,  # the name of its class
    "path": TEXT,  # net.encoder.0
    "training": TRUTH,  # train() or eval()
    "step": NUMBER,
    "loss": NUMBER,
}

PER_CALL = frozenset({"input", "output", "grad", "weight", "bias", "module", "path", "training"})


@dataclass(frozen=True)
class Function:
    """One argument of certain kinds goes in, one kind comes out; None: the kind that went in."""

    takes: tuple[str, ...]
    gives: str | None


_NUMBERS = Function((TENSOR,), NUMBER)
FUNCTIONS: dict[str, Function] = {
    "nan": Function((TENSOR, NUMBER), TRUTH),
    "inf": Function((TENSOR, NUMBER), TRUTH),
    "finite": Function((TENSOR, NUMBER), TRUTH),
    "any": Function((TENSOR,), TRUTH),
    "all": Function((TENSOR,), TRUTH),
    "norm": _NUMBERS,
    "min": _NUMBERS,
    "max": _NUMBERS,
    "mean": _NUMBERS,
    "std": _NUMBERS,
    "sum": _NUMBERS,
    "zeros": _NUMBERS,  # their share, from 0 to 1
    "dim": _NUMBERS,
    "numel": _NUMBERS,
    "len": Function((TENSOR, SHAPE), NUMBER),
    "abs": Function((TENSOR, NUMBER), None),
    "shape": Function((TENSOR,), SHAPE),
    "dtype": Function((TENSOR,), TEXT),  # "float16"
    "device": Function((TENSOR,), TEXT),  # "cuda:0"
    "parameter": Function((TEXT,), TENSOR),  # parameter("weight_ih_l0"): any parameter or buffer of the module
}
