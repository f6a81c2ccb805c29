"""What a gradient check found, for programs and, as text, for people."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from torch_debugger.source.files import is_user_file

_WIDTH = 100


@dataclass(frozen=True)
class Pattern:
    """The mistake a wrong gradient looks like. `deliberate` ones are also written on purpose."""

    name: str  # wrong-sign, missing-factor, transposed, ...
    words: str
    advice: str
    deliberate: bool = False


@dataclass(frozen=True)
class Mismatch:
    """One input whose gradient is wrong, and its worst element."""

    input: str  # x, weight
    output: str  # output, output 1
    element: str  # x[2, 3]
    output_element: str  # output[0, 1]
    analytical: float  # the derivative as backward gives it
    numerical: float  # and as differences of the function give it
    relative_error: float
    wrong: int  # elements of the input, of those tried
    tried: int
    total: int
    pattern: Pattern


@dataclass(frozen=True)
class Problem:
    """What keeps a gradient from being right, or from being checked, other than a wrong number."""

    name: str  # non-deterministic, in-place, forward-raised, backward-raised, ...
    words: str
    advice: str
    deliberate: bool = False


@dataclass(frozen=True)
class GradcheckResult:
    """True where all gradients are right. As text it says what is wrong, where, and what to do.

    >>> result = torch_debugger.gradcheck(Cube.apply, x)
    >>> bool(result), result.mismatches[0].pattern.name
    (False, 'missing-factor')
    """

    name: str
    second_order: bool
    mismatches: tuple[Mismatch, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    close_to: float = 0.0  # the largest relative difference between the two ways

    def __bool__(self) -> bool:
        return not self.mismatches and not self.problems

    @property
    def deliberate(self) -> bool:
        """Wrong only as a layer may be on purpose: straight-through, gradient reversal."""
        judged = [mismatch.pattern.deliberate for mismatch in self.mismatches]
        judged += [problem.deliberate for problem in self.problems]
        return bool(judged) and all(judged)

    def __str__(self) -> str:
        what = "second gradients" if self.second_order else "gradients"
        if self:
            names = ", ".join(f"`{name}`" for name in self.inputs)
            headline = f"`{self.name}`: the {what} are right (of {names}; to {max(self.close_to, 1e-16):.1g})."
        elif not self.mismatches:
            headline = f"`{self.name}`: the {what} did not pass."
        else:
            wrong = ", ".join(f"`{mismatch.input}`" for mismatch in self.mismatches)
            headline = f"`{self.name}`: the {what} of {wrong} are wrong."
        blocks = [headline]
        for each in self.mismatches:
            worst = (
                f"d {each.output_element} / d {each.element}: {each.analytical:.6g} by backward, "
                f"{each.numerical:.6g} by differences (relative error {each.relative_error:.2g})"
            )
            where = f"input `{each.input}`, {each.output}; {each.wrong} of {each.tried} elements wrong"
            where += "" if each.tried == each.total else f" that were tried ({each.total} in all)"
            rows = [("where", where), ("worst", worst), ("pattern", each.pattern.words), ("fix", each.pattern.advice)]
            blocks.append(_indented(rows))
        blocks += [_indented([("problem", problem.words), ("fix", problem.advice)]) for problem in self.problems]
        if self.notes:
            blocks.append(_indented([("note", note) for note in self.notes]))
        return "\n\n".join(blocks)

    __repr__ = __str__


def _indented(rows: list[tuple[str, str]]) -> str:
    lines = []
    for label, words in rows:
        wrapped = textwrap.wrap(words, _WIDTH - 11, break_long_words=False, break_on_hyphens=False)
        lines.append(f"  {label:<9}{wrapped[0]}")
        lines += [" " * 11 + line for line in wrapped[1:]]
    return "\n".join(lines)


_COUNT = re.compile(r"returned an incorrect number of gradients \(expected (\d+), got (\d+)\)")
_SHAPE = re.compile(
    r"returned an invalid gradient at index (\d+) - got (\[.*?\]) but expected shape compatible with (\[.*?\])"
)
_UNKNOWN = re.compile(r"derivative for '?(?:aten::)?(\w+)'? is not implemented")
_LONGEST = 300


def forward_raised(error: BaseException, nones: list[str]) -> Problem:
    """`nones`: inputs that were given as None, a likely reason."""
    why, advice = "", "Call it once by hand with the same inputs, and make that work first."
    if nones and "None" in str(error):
        why = f" {', '.join(f'`{name}`' for name in nones)} was given as None."
        advice = f"Handle None in `forward`: `if {nones[0]} is not None: ...`, or give a tensor."
    return Problem("forward-raised", f"the forward raised {_exception_text(error)}.{why}", advice)


def backward_raised(error: BaseException, names: list[str]) -> Problem:
    """`names`: the inputs of forward in order, to say which one a gradient was for."""
    text = str(error)
    if match := _COUNT.search(text):
        wanted, got = match.groups()
        return Problem(
            "wrong-count",
            f"backward returns {got} gradient{'s' * (got != '1')}, but forward takes {wanted} inputs.",
            "Return one value for each input of `forward`, in its order; None for an input without a gradient.",
        )
    if match := _SHAPE.search(text):
        index, got, wanted = match.groups()
        who = names[int(index)] if int(index) < len(names) else f"input {index}"
        return Problem(
            "wrong-shape",
            f"backward returns a gradient of shape {got} for `{who}`, which has shape {wanted}.",
            f"Return a gradient of the shape of `{who}`: sum over the dimensions that forward broadcast, or transpose.",
        )
    if match := _UNKNOWN.search(text):
        return Problem(
            "not-differentiable-twice",
            f"torch has no second derivative of `{match.group(1)}`.",
            "Write that part with other operations where second gradients are needed.",
        )
    if "once_differentiable" in text:
        return not_twice()
    return Problem(
        "backward-raised", f"backward raised {_exception_text(error)}.", "Make `backward` run for these inputs first."
    )


def not_twice() -> Problem:
    return Problem(
        "not-differentiable-twice",
        "backward cannot be differentiated again.",
        "Write `backward` with torch operations on `ctx.saved_tensors` and `grad_output`, without "
        "`once_differentiable`, `.detach()`, `.data` or numpy; then it has a gradient of its own.",
    )


def _exception_text(error: BaseException) -> str:
    """Its first line, and the innermost line of the user's own code."""
    first = (str(error).strip().splitlines() or [""])[0][:_LONGEST].rstrip(".")
    place, entry = "", error.__traceback__
    while entry is not None:
        file = entry.tb_frame.f_code.co_filename
        if is_user_file(file):
            place = f" at {file.rsplit('/', 1)[-1]}:{entry.tb_lineno}"
        entry = entry.tb_next
    return f"{type(error).__name__}{f': {first}' if first else ''}{place}"
