"""Lines of the user's that run in every step, as sampled stacks and the source around them tell."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch_debugger.checks.stacks import LEAST_SAMPLES
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Place, SampledStacks, StackNode

# Torch's wrapper around the step of every optimizer.
_UPDATE = "Optimizer.profile_hook_step.<locals>.wrapper"
# Of a call that is made for what it does besides, the share that must be of the kind to count as a whole.
_OF_A_KIND = 0.3

_Line = tuple[str | None, int | None]


@dataclass(frozen=True)
class StepSample:
    """Samples of one kind: the user's innermost line, and the library function that it called."""

    place: Place
    called: str  # empty where the time was in the line itself, in builtins or in torch's ops
    called_file: str
    step_line: Place  # the line of the loop itself that led there
    is_aside: bool  # that line is a call whose result nobody takes, and that does not train
    loop: Place  # that makes the steps
    samples: int
    around: tuple[Place, ...]  # all lines of the user's that led there, the innermost first


@dataclass(frozen=True)
class DearLine:
    """The dearest of some lines, with the share of all of them."""

    place: Place
    share: float  # of the training's time, for this line
    of_all: float  # and for all of its kind
    lines: int
    loop: Place
    is_in_loop: bool  # the line stands in the loop itself, not in a function that the loop calls
    samples: int  # of all of them


def dear_line(state: RunState, fits: Callable[[StepSample], bool]) -> DearLine | None:
    """What the lines of one kind cost that run in every step; None where too little is known to say so.

    `log(writer, step)` counts as a whole where much of what it does is of the kind.
    """
    stacks = state.sampled.get("training")
    if stacks is None or stacks.samples < LEAST_SAMPLES or not state.split.is_enough():
        return None
    of_lines: dict[_Line, list[StepSample]] = {}
    for sample in samples_of_each_step(stacks, state):
        if sample.is_aside or fits(sample):
            at = sample.step_line if sample.is_aside else sample.place
            of_lines.setdefault((at.file, at.line), []).append(sample)
    groups = [
        each for each in of_lines.values() if _count(list(filter(fits, each))) >= _OF_A_KIND * _count(each)
    ]
    if not groups:
        return None
    dearest, of_all = max(groups, key=_count), sum(map(_count, groups))
    first = dearest[0]
    return DearLine(
        first.step_line if first.is_aside else first.place,
        _count(dearest) / stacks.samples,
        of_all / stacks.samples,
        len(groups),
        first.loop,
        first.is_aside or first.place == first.step_line,
        of_all,
    )


def _count(samples: list[StepSample]) -> int:
    return sum(sample.samples for sample in samples)


def step_s(state: RunState) -> float:
    return state.split.total_s / max(state.split.steps, 1)


def samples_of_each_step(stacks: SampledStacks, state: RunState) -> Iterator[StepSample]:
    backwards, updates = _training_chains(stacks, state)
    loop = _step_loop(backwards, updates) or next(
        (each.loop for each in state.sites.values() if each.loop), None
    )
    if loop is None:
        return
    training = {_line(node) for chain in (*backwards, *updates) for node in chain}
    for number, node in enumerate(stacks.nodes):
        chain = _users(stacks, number)
        at = _line_of_each_step(chain, loop) if node.samples else None
        if at is None:
            continue
        called = _called(stacks, number)
        yield StepSample(
            chain[0].place,
            called.function if called else "",
            (called.place.file or "") if called else "",
            at.place,
            _line(at) not in training and _is_call_alone(at.place.code),
            loop,
            node.samples,
            tuple(each.place for each in chain),
        )


def _training_chains(stacks: SampledStacks, state: RunState) -> tuple[list[list[StackNode]], ...]:
    """The user's lines that lead to a backward, and those that lead to an update."""
    sites = {(site.place.file, site.place.line) for site in state.sites.values()}
    backwards, updates = [], []
    for number, node in enumerate(stacks.nodes):
        if node.is_users and _line(node) in sites:
            backwards.append(_users(stacks, number))
        elif node.function == _UPDATE:
            updates.append(_users(stacks, number))
    return backwards, updates


def _step_loop(backwards: list[list[StackNode]], updates: list[list[StackNode]]) -> Place | None:
    """The innermost loop that both the backward and the update are in."""
    of_backward, of_update = _loops(backwards), _loops(updates)
    if not of_backward or not of_update:
        return next(iter(of_backward or of_update), None)
    return next((loop for loop in of_backward if loop in of_update), None)


def _loops(chains: list[list[StackNode]]) -> list[Place]:
    return [loop for node in (chains[0] if chains else ()) for loop in node.loops]


def _line_of_each_step(chain: list[StackNode], loop: Place) -> StackNode | None:
    """The line in the loop itself; None where a condition decides whether the innermost line runs."""
    for node in chain:
        if loop in node.loops:  # a condition around the whole loop is none for its steps
            return node if node.condition < (loop.line or 0) else None
        if node.condition:
            return None
    return None


def _line(node: StackNode) -> _Line:
    return node.place.file, node.place.line


def _users(stacks: SampledStacks, number: int) -> list[StackNode]:
    """The user's lines that led there, the innermost first."""
    found = []
    while number >= 0:
        node = stacks.nodes[number]
        if node.is_users:
            found.append(node)
        number = node.parent
    return found


def _called(stacks: SampledStacks, number: int) -> StackNode | None:
    """The library function that the user's innermost line called itself."""
    called = None
    while number >= 0 and not stacks.nodes[number].is_users:
        called = stacks.nodes[number]
        number = called.parent
    return called


def every(line: DearLine, steps: int) -> Edit | None:
    """The line under `if step % 50 == 0:`; None where the line or the loop is not that plain."""
    counter, place = _counter(line.loop.code), line.place
    if not counter or not line.is_in_loop or not _is_call_alone(place.code) or not place.file or not place.line:
        return None
    after = f"if {counter} % {steps} == 0:\n    {place.code}"
    return Edit(place.file, place.line, place.code or "", after)


def without(line: DearLine) -> Edit | None:
    place = line.place
    if not _is_call_alone(place.code) or not place.file or not place.line:
        return None
    return Edit(place.file, place.line, place.code or "", "")


def _is_call_alone(code: str | None) -> bool:
    """A call that stands alone on its line."""
    try:
        body = ast.parse(code or "").body
    except SyntaxError:
        return False
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Call)


def _counter(header: str | None) -> str:
    """The variable that counts: `for step in range(...)`, `for i, batch in enumerate(...)`."""
    try:
        loop = ast.parse(f"{header or ''} pass").body[0]
    except (SyntaxError, IndexError):
        return ""
    match loop:
        case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range" | "trange"))):
            return name
        case ast.For(target=ast.Tuple(elts=[ast.Name(id=name), *_]), iter=called):
            return name if "enumerate(" in ast.unparse(called) else ""
    return ""
