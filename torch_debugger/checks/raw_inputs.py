"""Numbers that reach the first layer as they came from the file: too large for weights drawn for unit scale."""

from __future__ import annotations

import math

from torch_debugger.checks.curves import fallen_share, recent_level
from torch_debugger.checks.state import RunState
from torch_debugger.records import InputLook, TargetLook

# Weights are drawn for inputs of about unit size: a hundred times that is a hundred times the output.
LARGE = 50.0
LOOKS = 3  # on different steps
CHANCE = 0.8  # of the loss of a guess among all classes
FALLEN = 0.3  # of the first loss, where there are no classes


class RawInputs:
    """The looks at one layer, as long as all of them were large."""

    def __init__(self) -> None:
        self._looks: dict[str, list[InputLook]] = {}  # the first ones, and the last
        self._modest: set[str] = set()  # layers that were given other numbers as well
        self._classes: set[str] = set()

    def see(self, look: InputLook | TargetLook) -> None:
        if isinstance(look, TargetLook):
            self._classes |= set(look.labels)
            return
        looks = self._looks.setdefault(look.layer, [])
        if all(look.step != earlier.step for earlier in looks):
            looks[LOOKS:] = [look]
            if rms(look) < LARGE:
                self._modest.add(look.layer)

    def layers(self) -> list[list[InputLook]]:
        """Of every layer that was given large numbers all the time, the looks."""
        large = [looks for layer, looks in self._looks.items() if layer not in self._modest]
        return [looks for looks in large if len(looks) >= LOOKS]

    def severity(self, state: RunState) -> str:
        """A warning where the loss shows no learning; a run that learns all the same gets a note."""
        points = state.losses.finite()
        if len(state.sites) > 1 or len(points) < 20 or len(points) < len(state.losses.points):
            return "note"
        if len(self._classes) > 1:
            return "warning" if recent_level(points, 20) >= CHANCE * math.log(len(self._classes)) else "note"
        return "warning" if (fallen_share(points) or 0.0) < FALLEN else "note"


def rms(look: InputLook) -> float:
    """Root of the mean square: of everything, or of a table's largest column."""
    return float(max((look.mean**2 + look.std**2) ** 0.5, look.column_rms))


def is_image(look: InputLook) -> bool:
    """Bytes as numbers: 0 to 255, in a convolution or in the rows of a flattened image."""
    in_bytes = look.minimum >= 0 and 128 <= look.maximum <= 255
    return in_bytes and (look.kind == "Conv2d" or (look.kind == "Linear" and look.shape[-1] in _FLAT))


_FLAT = frozenset(
    side * side * channels for side in (8, 14, 16, 20, 24, 28, 32, 48, 64, 96, 128, 224) for channels in (1, 3)
)


def root_of(look: InputLook) -> str:
    return look.layer.split(".")[0]


def is_trained(look: InputLook, state: RunState) -> bool:
    """Its model is one that was met, and the layer's own weights learn."""
    model = state.models.get(root_of(look))
    return model is not None and any(
        parameter.trainable for parameter in model.parameters if parameter.path.startswith(look.layer + ".")
    )
