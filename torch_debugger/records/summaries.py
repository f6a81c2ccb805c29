"""What a script logs besides plain numbers: histograms, pictures, sounds, texts, tensors, graphs, ...

Each is kept as it was given; the log's thread makes the bytes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from torch_debugger.records.base import BaseRecord, field
from torch_debugger.records.run import HparamValue

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    Floats = numpy.typing.NDArray[numpy.float64]


class LoggedSummary(BaseRecord, frozen=True, eq=False):
    step: int
    time: float  # seconds since the epoch
    tag: str
    droppable: ClassVar[bool] = False  # may be left out where the disk does not keep up

    @property
    def nbytes(self) -> int:
        """What it holds in memory while it waits, as far as it counts."""
        return 0


class HistogramSummary(LoggedSummary, frozen=True, eq=False):
    """Values by bucket; those that are NaN or Inf are in none of them."""

    minimum: float
    maximum: float
    count: float
    total: float
    squares: float
    limits: Floats  # the upper limit of each bucket
    counts: Floats
    nan: int = 0
    inf: int = 0

    @property
    def nbytes(self) -> int:
        return self.limits.nbytes + self.counts.nbytes


class UncountedSummary(LoggedSummary, frozen=True, eq=False):
    """Values of a histogram that nobody has counted yet."""

    values: numpy.typing.NDArray[numpy.float32] | Floats  # flat
    max_bins: int | None = None

    @property
    def nbytes(self) -> int:
        return self.values.nbytes


class Box(BaseRecord, frozen=True, eq=False):
    """A rectangle to draw on a picture, in pixels."""

    left: float
    top: float
    right: float
    bottom: float
    label: str = ""


class PictureSummary(LoggedSummary, frozen=True, eq=False):
    """A picture, or a film where there is more than one frame."""

    frames: numpy.typing.NDArray[numpy.uint8]  # [frames, height, width, channels]
    frames_per_s: float = 4.0
    rescale: float = 1.0
    boxes: tuple[Box, ...] = ()
    film: bool = False
    droppable: ClassVar[bool] = True

    @property
    def nbytes(self) -> int:
        return self.frames.nbytes


class SoundSummary(LoggedSummary, frozen=True, eq=False):
    samples: numpy.typing.NDArray[numpy.int16]  # [samples, channels]
    rate: int  # samples per second
    droppable: ClassVar[bool] = True

    @property
    def nbytes(self) -> int:
        return self.samples.nbytes


class TextSummary(LoggedSummary, frozen=True, eq=False):
    text: str


class TensorSummary(LoggedSummary, frozen=True, eq=False):
    """An array for the plugin of TensorBoard that shows it."""

    values: numpy.typing.NDArray[numpy.generic]
    plugin: str
    content: bytes = b""  # what the plugin wants to know
    display_name: str = ""
    description: str = ""

    @property
    def nbytes(self) -> int:
        return self.values.nbytes


class PrCurveSummary(LoggedSummary, frozen=True, eq=False):
    """By threshold: true and false positives, true and false negatives, precision, recall."""

    curve: numpy.typing.NDArray[numpy.float32]  # [6, thresholds]
    thresholds: int  # as TensorBoard is told


class MeshSummary(LoggedSummary, frozen=True, eq=False):
    """Points in space, [batch, points, 3] each; no colors or faces where they are None."""

    vertices: numpy.typing.NDArray[numpy.float32]
    colors: numpy.typing.NDArray[numpy.float32] | None
    faces: numpy.typing.NDArray[numpy.float32] | None
    config: str  # of the camera and the material, as JSON

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.vertices, self.colors, self.faces) if part is not None)


class Chart(BaseRecord, frozen=True, eq=False):
    category: str
    title: str
    tags: tuple[str, ...]
    margin: bool = False  # three tags: a value, its lower and its upper bound


class ChartsSummary(LoggedSummary, frozen=True, eq=False):
    """Which curves TensorBoard draws together."""

    charts: tuple[Chart, ...]


class HparamsSummary(LoggedSummary, frozen=True, eq=False):
    """The hyperparameters of a run and the tags of the metrics they are compared by."""

    values: dict[str, HparamValue]
    metrics: tuple[str, ...]
    choices: dict[str, tuple[HparamValue, ...]] = field(default_factory=dict)  # all values one may have


class GraphSummary(LoggedSummary, frozen=True, eq=False):
    graph: bytes  # a GraphDef

    @property
    def nbytes(self) -> int:
        return len(self.graph)


class ForeignEvent(LoggedSummary, frozen=True, eq=False):
    """The bytes of a whole event that the script made itself."""

    event: bytes

    @property
    def nbytes(self) -> int:
        return len(self.event)
