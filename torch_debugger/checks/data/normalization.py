"""Inputs on a scale that the first layer is not made for."""

from __future__ import annotations

import ast
import functools
import math
import statistics
from collections import deque
from collections.abc import Iterable, Iterator
from typing import ClassVar

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import is_evaluation, name_of
from torch_debugger.checks.call_edits import only_argument, with_argument
from torch_debugger.checks.trends import fallen_share, recent_level
from torch_debugger.records import BatchLook, Finding, InputLook, Record, RootInput, TargetLook

_KINDS = ("Linear", "Conv1d", "Conv2d", "Conv3d", "RNN", "LSTM", "GRU")


# Weights are drawn for inputs of about unit size: a hundred times that is a hundred times the output.
_LARGE = 50.0
_LOOKS = 3  # on different steps
_CHANCE = 0.8  # of the loss of a guess among all classes
_FALLEN = 0.3  # of the first loss, where there are no classes
_FLAT = frozenset(
    side * side * channels for side in (8, 14, 16, 20, 24, 28, 32, 48, 64, 96, 128, 224) for channels in (1, 3)
)


class _RawInputs(Check):
    """Numbers that reach the first layer as they came from the file: too large for weights drawn for unit scale."""

    reads: ClassVar[tuple[type, ...]] = (InputLook, TargetLook)

    def __init__(self) -> None:
        self._looks: dict[str, list[InputLook]] = {}  # at each layer: the first ones, and the last
        self._modest: set[str] = set()  # layers that were given other numbers as well
        self._classes: set[str] = set()

    def see(self, record: InputLook | TargetLook, state: RunState) -> None:
        if isinstance(record, TargetLook):
            self._classes |= set(record.labels)
            return
        looks = self._looks.setdefault(record.layer, [])
        if all(record.step != earlier.step for earlier in looks):
            looks[_LOOKS:] = [record]
            if _rms(record) < _LARGE:
                self._modest.add(record.layer)

    def layers(self, state: RunState) -> Iterator[list[InputLook]]:
        """Of every layer that was given large numbers all the time and whose own weights learn, the looks."""
        learning = [parameter.path for parameter in state.parameters if parameter.trainable]
        for layer, looks in self._looks.items():
            known = layer.split(".")[0] in state.models
            learns = known and any(path.startswith(f"{layer}.") for path in learning)
            if learns and layer not in self._modest and len(looks) >= _LOOKS:
                yield looks

    def severity(self, state: RunState) -> str:
        """A warning where the loss shows no learning; a run that learns all the same gets a note."""
        points = state.losses.finite()
        if len(state.sites) > 1 or len(points) < 20 or len(points) < len(state.losses.points):
            return "note"
        if len(self._classes) > 1:
            return "warning" if recent_level(points, 20) >= _CHANCE * math.log(len(self._classes)) else "note"
        return "warning" if (fallen_share(points) or 0.0) < _FALLEN else "note"


def _rms(look: InputLook) -> float:
    """Root of the mean square: of everything, or of a table's largest column."""
    return float(max((look.mean**2 + look.std**2) ** 0.5, look.column_rms))


def _is_image(look: InputLook) -> bool:
    """Bytes as numbers: 0 to 255, in a convolution or in the rows of a flattened image."""
    in_bytes = look.minimum >= 0 and 128 <= look.maximum <= 255
    return in_bytes and (look.kind == "Conv2d" or (look.kind == "Linear" and look.shape[-1] in _FLAT))


def _root(look: InputLook) -> str:
    return look.layer.split(".")[0]


class InputNotNormalized(_RawInputs):
    """Inputs reach the first layer in raw units, a hundred times the size that weights are made for.

    Symptom:
        The loss starts far too high, swings, or stays near that of a constant guess; small changes of the
        learning rate decide between nothing and divergence.
    Evidence:
        On several deep steps the numbers given to the first layer that learns had a mean square in the
        tens of thousands; of a table, the column with the largest values is named.
    Fix:
        Standardize with the training data's statistics: `x = (x - mean) / std`, column by column.
    Known limits:
        Judged at the layer itself, so a normalisation anywhere before it counts. Below a root mean square of
        100 nothing is said, and a run whose loss falls all the same gets a note. Images from 0 to 255 are told
        by image-range-0-255.
    """

    id = "TD203"
    name = "input-not-normalized"
    title = "features go into the model in raw units"
    explains = (
        "lr-too-high", "dead-relu", "saturated-sigmoid-or-tanh", "loss-not-finite", "overflow-ahead",
        "vanishing-gradient",
    )  # fmt: skip

    # For layers with PyTorch's default or any fan-in initialization, which assume inputs of unit variance.
    large = 2 * _LARGE

    def see(self, record: InputLook | TargetLook, state: RunState) -> None:
        if isinstance(record, TargetLook) or record.kind in _KINDS:
            super().see(record, state)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for looks in self.layers(state):
            if all(_rms(look) >= self.large and not _is_image(look) for look in looks):
                first, last = looks[0], looks[-1]
                argument = only_argument(first.call.code, _root(first)) or "x"
                column = f": column {last.column} has a root mean square of {last.column_rms:.4g}"
                yield self.finding(
                    severity=self.severity(state),
                    confidence=0.88,
                    message=f"`{first.layer}` ({first.kind}) is given raw numbers between {last.minimum:.4g} and "
                    f"{last.maximum:.4g} by the call{at_line(first.call)}{column if last.column >= 0 else ''}.",
                    why="Layers draw their weights for inputs of about unit size. One column in raw units drowns the "
                    "others, and its gradient is larger by the square of its size.",
                    fix=f"Standardize before the model is called{at_line(first.call)}: `{argument} = ({argument} - "
                    "mean) / std` with `mean` and `std` of the training data, column by column.",
                    where=first.call,
                    steps=(first.step, last.step),
                    evidence={"rms": _rms(last), "minimum": last.minimum, "maximum": last.maximum},
                )


class ImageRange(_RawInputs):
    """Images reach the first layer with values from 0 to 255.

    Symptom:
        The first losses are huge, learning is slow or stops at once, and only tiny learning rates work.
    Evidence:
        On several deep steps the first layer that learns was given values between 0 and 255, with none
        below 0 and a mean square in the thousands; no layer that learns and no normalisation came before.
    Fix:
        Divide by 255, or use `ToTensor()` and `Normalize(mean, std)`, before the model is called.
    Known limits:
        Judged at the layer itself: a model that divides inside its forward, or begins with a BatchNorm, is not
        reported. A run whose loss falls all the same gets a note. Flattened images are known by usual sizes
        only.
    """

    id = "TD202"
    name = "image-range-0-255"
    title = "images go into the model as 0 to 255"
    explains = ("lr-too-high", "dead-relu", "loss-not-finite", "overflow-ahead", "vanishing-gradient")

    def finish(self, state: RunState) -> Iterable[Finding]:
        for looks in self.layers(state):
            if all(_is_image(look) for look in looks):
                first, last = looks[0], looks[-1]
                argument = only_argument(first.call.code, _root(first)) or "images"
                change = f"`{argument} / 255`" if argument.isidentifier() else f"`({argument}) / 255`"
                yield self.finding(
                    severity=self.severity(state),
                    confidence=0.9,
                    message=f"`{first.layer}` ({first.kind}) is given images with values up to {last.maximum:.0f} "
                    f"(mean {last.mean:.0f}, std {last.std:.0f}) by the call{at_line(first.call)}.",
                    why="Layers draw their weights for inputs of about unit size. With bytes the first outputs and "
                    "gradients are some hundred times too large, and the first steps throw the weights away.",
                    fix=f"Scale the images for the model: {change} instead of `{argument}`{at_line(first.call)}.",
                    where=first.call,
                    steps=(first.step, last.step),
                    evidence={"maximum": last.maximum, "mean": last.mean, "std": last.std},
                    edit=with_argument(first.call, _root(first), "{} / 255"),
                )


_MOST_LOOKS = 64  # the last ones


class ValidationScaleDiffers(Check):
    """The inputs of validation are scaled differently from those of training.

    Symptom:
        Training goes well and validation is as bad as chance, from the first epoch on: it looks like extreme
        overfitting.
    Evidence:
        The deviation of what the model is given, in training and without gradients, differs by a factor of ten
        or more in every look, for inputs of the same shape.
    Fix:
        Apply the same preprocessing to both: the same transform, or the training data's mean and std.
    Known limits:
        Only factors of ten and more are told, as from a missing division by 255. Calls without gradients count
        as validation if they come with a loader, or with a variable, that is named so.
    """

    id = "TD215"
    name = "validation-scale-differs"
    title = "validation inputs are scaled differently"
    reads = (RootInput, BatchLook)
    explains = ("batchnorm-stats-diverge",)

    factor = 10.0
    looks_needed = 3

    def __init__(self) -> None:
        self._trained: dict[str, deque[RootInput]] = {}
        self._evaluated: dict[str, deque[RootInput]] = {}
        self._loader_steps: set[int] = set()  # steps in which a validation loader delivered
        self._settled: set[str] = set()  # roots that are reported, or whose two scales have come close

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, BatchLook):
            fact = state.loaders.get(record.loader)
            if not record.trained and fact is not None and is_evaluation(name_of(fact)):
                self._loader_steps.add(record.step)
        elif isinstance(record, RootInput):
            if record.root in self._settled or not record.std > 0 or record.shape[0] <= 1:
                return
            looks = self._trained if record.trained else self._evaluated
            looks.setdefault(record.root, deque(maxlen=_MOST_LOOKS)).append(record)
            yield from self._compare(record.root)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for root in tuple(self._evaluated):
            yield from self._compare(root)

    def _compare(self, root: str) -> Iterable[Finding]:
        trained = list(self._trained.get(root, ()))
        evaluated = [look for look in self._evaluated.get(root, ()) if self._is_validation(look)]
        if root in self._settled or not trained or not evaluated:
            return
        shapes = {look.shape[1:] for look in [*trained, *evaluated]}
        deviations = ([look.std for look in looks] for looks in (trained, evaluated))
        low, high = sorted(deviations, key=statistics.median)
        if len(shapes) > 1 or min(high) < self.factor * max(low):
            self._settled.add(root)
        elif min(len(trained), len(evaluated)) >= self.looks_needed:
            self._settled.add(root)
            before, after = trained[-1], evaluated[-1]
            times = max(before.std / after.std, after.std / before.std)
            yield self.finding(
                severity="error",
                confidence=0.92,
                message=f"`{after.root}` is validated{at_line(after.call)} on inputs with a deviation of "
                f"{after.std:.3g}, and trained{at_line(before.call)} on inputs with {before.std:.3g}: a factor of "
                f"{times:.0f}.",
                why="A model answers sensibly only for inputs like those it has learned from. One of the two goes "
                "through a step of preprocessing that the other lacks.",
                fix=f"Prepare the inputs of the call{at_line(after.call)} exactly as those{at_line(before.call)}: the "
                "same transform, division or normalization.",
                where=after.call,
                steps=(evaluated[0].step, after.step),
                evidence={"validation_std": after.std, "training_std": before.std, "factor": times},
            )

    def _is_validation(self, look: RootInput) -> bool:
        return look.step in self._loader_steps or any(
            is_evaluation(name) for name in _names_in(look.call.code, look.root)
        )


@functools.lru_cache(maxsize=256)
def _names_in(code: str | None, root: str) -> tuple[str, ...]:
    """The variables in what the model is given on that line."""
    argument = only_argument(code, root)
    tree = ast.parse(argument) if argument else None
    return tuple(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)) if tree else ()
