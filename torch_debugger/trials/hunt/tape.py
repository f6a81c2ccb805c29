"""What was computed from what, outside of modules: enough to compute it once more.

Like autograd's graph it lives as long as its results do, and it keeps no results: of each step only how
it was called, and of the tensors that came from elsewhere the tensors themselves.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from types import CodeType
from typing import Any, NamedTuple

import torch

from torch_debugger.anatomy.nested import exchanged

_MOST_BYTES = 512 * 2**20  # of tensors from elsewhere; beyond that all is forgotten, as in a long evaluation
_MOST_STEPS = 2**16
_PLAIN = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device, torch.Size})

Frames = tuple[tuple[CodeType, int], ...]  # code and the instruction in it, the caller first


class Setting(NamedTuple):
    """What was switched on when a step was made."""

    gradients: bool
    autocast: tuple[tuple[str, torch.dtype], ...] = ()
    random_states: tuple[tuple[torch.Generator, torch.Tensor], ...] = ()
    training: bool | None = None  # of the module that was called


class Step:
    """One call: of a torch function, of a module, or of a Function of the user's own."""

    __slots__ = (
        "arguments", "consumed", "frames", "function", "keywords", "number", "operands", "setting", "sources",
        "written",
    )  # fmt: skip

    def __init__(
        self, number: int, function: Any, arguments: Any, keywords: Any, frames: Frames, setting: Setting
    ) -> None:
        self.number = number
        self.function = function
        self.arguments, self.keywords = arguments, keywords  # with references in the tensors' place
        self.frames = frames
        self.setting = setting
        self.operands: set[int] = set()  # ids of the tensors among the arguments, while it is new
        self.sources: list[Step] = []  # earlier ones whose results are among the arguments
        self.written: list[Step] = []  # later ones that wrote into its results
        self.consumed = False

    @property
    def is_detaching(self) -> bool:
        return getattr(self.function, "__name__", "") == "detach"


class Reference:
    """A tensor among the arguments of a step."""

    __slots__ = ()


class Given(Reference):
    """From elsewhere: a parameter, a batch."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor, self.version = tensor, version_of(tensor)


class Made(Reference):
    """The result of an earlier step."""

    __slots__ = ("index", "step")

    def __init__(self, step: Step, index: int) -> None:
        self.step, self.index = step, index


class Tape:
    def __init__(self) -> None:
        self.number = 0
        self._made: dict[int, tuple[weakref.ref[torch.Tensor], Made]] = {}
        self._held_bytes = 0
        self._sources: list[Step] = []  # of the arguments that are being held
        self._operands: set[int] = set()  # ids of the tensors among them

    def hold(self, value: Any) -> Any:
        """The arguments of a call as a step keeps them."""
        if isinstance(value, torch.Tensor):
            return self.refer(value)
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is tuple or kind is list:
            return kind([self.hold(item) for item in value])
        return exchanged(value, self.refer)

    def refer(self, tensor: torch.Tensor) -> Reference:
        self._operands.add(id(tensor))
        found = self._made.get(id(tensor))
        if found is not None:
            found[1].step.consumed = True
            self._sources.append(found[1].step)
            return found[1]
        if not isinstance(tensor, torch.nn.Parameter):
            self._held_bytes += tensor.nbytes if tensor.layout is torch.strided else 0
        return Given(tensor)

    def knows(self, tensor: torch.Tensor) -> bool:
        return id(tensor) in self._made

    def step(self, function: Any, arguments: Any, keywords: Any, frames: Frames, setting: Setting) -> Step:
        self.number += 1
        if self._held_bytes > _MOST_BYTES or self.number % _MOST_STEPS == 0:
            self.forget()
        step = Step(self.number, function, arguments, keywords, frames, setting)
        step.sources, self._sources = self._sources, []
        step.operands, self._operands = self._operands, set()
        return step

    def keep(self, step: Step, results: Iterable[torch.Tensor]) -> None:
        """What came out of a step; a tensor that also went in stays what it was."""
        operands, step.operands = step.operands, set()
        for index, tensor in enumerate(results):
            key = id(tensor)
            if key not in operands and key not in self._made:
                gone = weakref.ref(tensor, lambda _, key=key: self._made.pop(key, None))  # type: ignore[misc]
                self._made[key] = (gone, Made(step, index))

    def wrote(self, step: Step, tensor: torch.Tensor) -> None:
        """A step has changed a tensor in place: so what it is a view of is changed as well."""
        base = tensor._base if tensor._is_view() else None
        for each in (tensor, base):
            found = self._made.get(id(each))
            if found is not None:
                found[1].step.written.append(step)

    def made(self, tensor: torch.Tensor) -> Made | None:
        found = self._made.get(id(tensor))
        return found[1] if found is not None else None

    def ends(self, since: int) -> list[tuple[torch.Tensor, Made]]:
        """The results after the step of that number that nobody has used, as far as they still exist."""
        held = [(gone(), made) for gone, made in list(self._made.values())]
        alive = [(tensor, made) for tensor, made in held if tensor is not None]
        for tensor, _ in alive:
            tensor._fix_weakref()  # type: ignore[attr-defined]  # torch may have put a new object around it
        return [each for each in alive if each[1].step.number > since and not each[1].step.consumed]

    def spend(self, steps: Iterable[Step]) -> None:
        """Backward has freed the graph of these: they let go of all they hold, and what was made of them
        comes from elsewhere from now on."""
        for step in leading_to(steps, through_detach=False):
            step.function, step.arguments, step.keywords = None, (), {}
            step.sources, step.written = [], []
        for key, (_, made) in list(self._made.items()):
            if made.step.function is None or any(step.function is None for step in leading_to([made.step])):
                self._made.pop(key, None)
        self._held_bytes = 0

    def forget(self) -> None:
        self._made.clear()
        self._held_bytes = 0


def version_of(tensor: torch.Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:  # made in inference mode
        return -1


def references(value: Any) -> list[Reference]:
    found: list[Reference] = []
    exchanged(value, found.append, Reference)
    return found


def leading_to(steps: Iterable[Step], *, through_detach: bool = True) -> list[Step]:
    """These and all that they were computed from, in order."""
    wanted = {step.number: step for step in steps}
    last, waiting = max(wanted, default=0), list(wanted.values())
    while waiting:
        step = waiting.pop()
        if not through_detach and (step.is_detaching or not step.setting.gradients):
            continue
        for earlier in (*step.sources, *step.written):
            if earlier.number not in wanted and earlier.number <= last:
                wanted[earlier.number] = earlier
                waiting.append(earlier)
    return [wanted[number] for number in sorted(wanted)]
