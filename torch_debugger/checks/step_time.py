"""Advice on speed: what it would save, and how loudly that is said."""

from __future__ import annotations

import abc
import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check, RunState, StepSplit
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.records import (
    CostFact,
    Edit,
    Finding,
    LossSite,
    Place,
    ProductTime,
    ProfileFact,
    Record,
    SampledStacks,
    StackNode,
)

LEAST_GAIN = 0.05  # of the time of a step: below, advice is not worth an edit
WARNED_GAIN = 0.2


def severity_of(gain: float) -> str | None:
    """`gain` is the share of a step's time (or of its memory) that the edit saves; None: say nothing."""
    if gain < LEAST_GAIN:
        return None
    return "warning" if gain >= WARNED_GAIN else "note"


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def expected(gain: float, step_s: float) -> str:
    """The last sentence of a fix."""
    return f"Expected to save about {100 * gain:.0f} % of each step ({milliseconds(gain * step_s)})."


# Lines of the user's that run in every step, as sampled stacks and the source around them tell.

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
    groups = [each for each in of_lines.values() if _count(list(filter(fits, each))) >= _OF_A_KIND * _count(each)]
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
    # The user's lines that lead to a backward, and those that lead to an update.
    sites = {(site.place.file, site.place.line) for site in state.sites.values()}
    backwards, updates = [], []
    for number, node in enumerate(stacks.nodes):
        if node.is_users and _line(node) in sites:
            backwards.append(_users(stacks, number))
        elif node.function == _UPDATE:
            updates.append(_users(stacks, number))
    # The innermost loop that both are in.
    of_backward, of_update = _loops(backwards), _loops(updates)
    if of_backward and of_update:
        of_backward = [loop for loop in of_backward if loop in of_update]
        of_update = []
    known = [*of_backward, *of_update, *(site.loop for site in state.sites.values())]
    loop = next((loop for loop in known if loop), None)
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
    if not counter or not line.is_in_loop or not _is_call_alone(place.code):
        return None
    return edit_line(place, f"if {counter} % {steps} == 0:\n    {place.code}")


def without(line: DearLine) -> Edit | None:
    return edit_line(line.place, "") if _is_call_alone(line.place.code) else None


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


# A check of what lines of one kind cost that run in every step.
@dataclass(frozen=True)
class Advice:
    what: str  # the beginning of the message: Logging in every step
    why: str
    fix: str  # without its last sentence, which tells the gain
    edit: Edit | None


class LineCostCheck(Check):
    """Says which kind of line, how much of its time the edit saves, and the words."""

    reads = (CostFact,)

    least_samples = 10
    # What is over sooner, nobody waits for, however short a step is.
    least_line_s = 0.0005
    saved = 1.0  # by the edit, of the time of the lines
    is_loud = True  # else it is a note, however much it saves

    def __init__(self) -> None:
        self._stacks: SampledStacks | None = None  # that the line was found in
        self._known: tuple[tuple[LossSite, ...], bool] | None = None
        self._line: DearLine | None = None

    @abc.abstractmethod
    def fits(self, sample: StepSample) -> bool: ...

    @abc.abstractmethod
    def advise(self, line: DearLine, state: RunState) -> Advice: ...

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        return self.finish(state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        # Costs come far more often than stacks, and one process may judge a thousand ranks: worked out once.
        stacks, known = state.sampled.get("training"), (tuple(state.sites.values()), state.split.is_enough())
        if stacks is not self._stacks or known != self._known:
            self._stacks, self._known = stacks, known
            self._line = dear_line(state, self.fits)
        line = self._line
        if line is None or line.samples < self.least_samples:
            return
        # On a GPU the host stands at such a line until the device has come so far; that is no time of the line.
        # What the device is idle between the parts of a step is all that it can save.
        on_cpu = state.speed is None or state.speed.device == "cpu"
        gain = min(line.of_all * self.saved, 1.0 if on_cpu else state.split.share("copy", "logging", "other"))
        severity, whole_s = severity_of(gain), step_s(state)
        if severity is None or line.of_all * whole_s < self.least_line_s:
            return
        others = f" (with {line.lines - 1} more like it)" if line.lines > 1 else ""
        advice = self.advise(line, state)
        yield self.finding(
            severity=severity if self.is_loud else "note",
            confidence=0.9,
            message=f"{advice.what} takes {milliseconds(line.of_all * whole_s)} of the {milliseconds(whole_s)} of "
            f"each step: `{line.place.code or 'this line'}`{others}.",
            why=advice.why,
            fix=f"{advice.fix} {expected(gain, whole_s)}",
            where=line.place,
            steps=(1, state.step),
            evidence={
                "expected_gain": gain,
                "lines_s": line.of_all * whole_s,
                "step_s": whole_s,
                "samples": float(line.samples),
            },
            edit=advice.edit,
        )


def rarely(edit: Edit | None, steps: int) -> str:
    """How to run a line in some steps only, as an order."""
    condition = edit.after.split("\n")[0] if edit else ""
    return f"Write `{condition}` in front of it" if edit else f"Run it every {steps} steps only"


# Reading sampled stacks: which lines of the user's the time goes to, and what ran below them.
LEAST_SAMPLES = 50  # to judge by: a second of training


@dataclass
class HotLine:
    """A line of the user's that was the innermost one of theirs in this many samples."""

    place: Place
    function: str
    samples: int = 0
    share: float = 0.0  # of all samples
    called: dict[str, int] = field(default_factory=dict)  # the library functions it called itself, by samples
    around: list[Place] = field(default_factory=list)  # the user's lines that led there, the innermost first


def hot_lines(stacks: SampledStacks) -> list[HotLine]:
    """The dearest first. A line in several stacks is one."""
    found: dict[tuple[str | None, int | None], HotLine] = {}
    for number, node in enumerate(stacks.nodes):
        owner = stacks.users_line(number)
        if owner is None or not node.samples:
            continue
        at = stacks.nodes[owner]
        line = found.setdefault((at.place.file, at.place.line), HotLine(at.place, at.function))
        line.around = line.around or [each.place for each in _above(stacks, owner) if each.is_users]
        line.samples += node.samples
        if number != owner:
            first = number  # the library function that the user's line itself called
            while stacks.nodes[first].parent != owner:
                first = stacks.nodes[first].parent
            called = stacks.nodes[first].function
            line.called[called] = line.called.get(called, 0) + node.samples
    for line in found.values():
        line.share = line.samples / max(stacks.samples, 1)
    return sorted(found.values(), key=lambda line: -line.samples)


def share_below(stacks: SampledStacks, function: str) -> float:
    """The share of samples inside of any function of this name, whoever called it: `Optimizer.zero_grad`."""
    return share_where(stacks, lambda node: node.function == function)


def share_where(stacks: SampledStacks, fits: Callable[[StackNode], bool]) -> float:
    """The share of samples that went through a node like this."""
    counted = 0
    for number, node in enumerate(stacks.nodes):
        if fits(node) and not any(map(fits, _above(stacks, number))):
            counted += node.total
    return counted / max(stacks.samples, 1)


def _above(stacks: SampledStacks, number: int) -> Iterator[StackNode]:
    """Those that led to it, the nearest first."""
    number = stacks.nodes[number].parent
    while number >= 0:
        yield stacks.nodes[number]
        number = stacks.nodes[number].parent


# The steps of a windowed profile, as they are when nobody profiles them.
def plain_s(fact: ProfileFact) -> float:
    """Of all profiled steps together. The host is slower while it is profiled, the device is not; and the
    host's clock says little about steps that it only puts into a queue."""
    each_s = fact.plain_s or fact.wall_s / max(1, fact.steps)
    return min(fact.wall_s, max(each_s * fact.steps, fact.device_busy_s))


def idle_s(fact: ProfileFact) -> float:
    """In which the device had nothing to do."""
    return max(0.0, plain_s(fact) - fact.device_busy_s)


def launching_s(fact: ProfileFact, split: StepSplit) -> float:
    """In which the device waited for nothing but the host's next kernel: not for data, a print or an
    evaluation, nor after the host had waited for the device."""
    elsewhere_s = split.share("data_wait", "logging", "evaluation") * plain_s(fact)
    return max(0.0, idle_s(fact) - elsewhere_s - sum(sync.lost_s for sync in fact.syncs))


def each(seconds: float, fact: ProfileFact) -> float:
    return seconds / max(1, fact.steps)


def per_step(seconds: float, fact: ProfileFact) -> str:
    return milliseconds(each(seconds, fact))


def profiled_steps(fact: ProfileFact) -> tuple[int, int]:
    return fact.first_step, fact.first_step + fact.steps - 1


def device_s(products: Iterable[ProductTime]) -> float:
    return sum(product.device_s for product in products)


def dearest_line(products: Iterable[ProductTime]) -> Place:
    """The line of the forward whose products take longest, those of its backward with them."""
    times: dict[Place, float] = {}
    for product in products:
        times[product.place] = times.get(product.place, 0.0) + product.device_s
    return max(times, key=lambda place: times[place], default=Place())
