"""Gamma functions, matrix decompositions, and tensors that hold nothing yet."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.nonfinite.case import Case, Story
from torch_debugger.checks.explainers.nonfinite.wording import small_number, zeros_of

_NAN = re.compile(r"""float\(\s*["']nan["']\s*\)|\b(?:torch|math|np|numpy)\.nan\b""", re.IGNORECASE)
_EMPTY = re.compile(r"\b(torch\.|\.)?(new_)?empty(_like)?\(")
_ALLOCATORS = ("empty", "empty_like", "new_empty", "Tensor", "FloatTensor", "empty_strided")
_EQUAL = {
    "svd": "The slope of the singular vectors divides by the differences of the squared singular values",
    "eigh": "The slope of the eigenvectors divides by the differences of the eigenvalues",
    "eig": "The slope of the eigenvectors divides by the differences of the eigenvalues",
}


def explain_gamma(case: Case) -> Story | None:
    operand = case.operand()
    if not operand.zeros or operand.negatives:
        return None
    told, edit = case.with_method(0, f".clamp_min({small_number(operand)})")
    why = f"{case.op} has a pole at 0, where it is not finite."
    return Story(f"because {zeros_of(operand, case.name())}", why, f"{told}.", edit)


def explain_decomposition(case: Case) -> Story | None:
    if not case.backward:
        return None
    why = f"{_EQUAL[case.op]}: where two are equal, as for the identity, that is a division by 0."
    fix = "Use only the values (`torch.linalg.svdvals`, `torch.linalg.eigvalsh`), or add a little noise."
    return Story("given a matrix that was finite", why, fix)


def explain_determinant(case: Case) -> Story | None:
    if not case.finite:
        return None
    name, added = case.bare_name(), small_number(case.operand())
    why = f"{case.op} is not finite for a matrix without an inverse, whose determinant is 0, or so near to one."
    fix = f"Add a little to the diagonal: `{name} + {added} * torch.eye({name}.shape[-1])`."
    return Story("given a matrix that was finite", why, fix)


def explain_constant(case: Case) -> Story | None:
    """A NaN that is written in the line, or memory that nothing was written to."""
    if case.op in _ALLOCATORS:
        return _uninitialised(case)
    if not case.finite or not (_NAN.search(case.written.code) or "nan" in case.origin.arguments):
        return None
    fix = "Replace the NaN by a number, or select with `torch.where` before it reaches the loss."
    return Story("because a NaN is written there", "Every number that meets a NaN becomes one.", fix)


def _uninitialised(case: Case) -> Story:
    why = "`torch.empty` reserves memory without writing to it: what is in it is whatever was there before."
    code = case.written.code
    changed = _EMPTY.sub(lambda found: f"{found[1] or ''}{found[2] or ''}zeros{found[3] or ''}(", code)
    edit = case.written.edit([((0, len(code)), changed)])
    fix = (
        f"Write `{changed}`, or fill it before it is used."
        if edit
        else "Use `torch.zeros`, or fill it before it is used."
    )
    return Story("because nothing was written to that memory", why, fix, edit)
