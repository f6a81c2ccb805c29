"""One run: a folder of event files, of one process or of many, read as one."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from torch_debugger.log import decoder_values as parsing
from torch_debugger.log import media
from torch_debugger.log.curves import Curve, find_loss_tag, to_frame
from torch_debugger.log.decoder_values import SCALARS
from torch_debugger.log.event_log import Decode, Log
from torch_debugger.log.findings import JudgedRun, result_stamp
from torch_debugger.log.folders import Series, hparam_folders, place_of, series_folders
from torch_debugger.log.media import PR_CURVES, SCALAR_CHARTS, PrCurve, ScalarCategory, pr_curves, scalar_charts
from torch_debugger.log.run_facts import ENDED, KINDS, Facts, gather, may_grow, said_hparams, said_metrics, tell_status
from torch_debugger.records import Record, Scalars, TensorRows
from torch_debugger.records.run import HparamValue
from torch_debugger.system.clocks import time
from torch_debugger.system.errors import DebuggerError

if TYPE_CHECKING:
    import pandas


_Medium = TypeVar("_Medium")
_Answer = TypeVar("_Answer")
_Kind = TypeVar("_Kind")

_KEPT_BYTES = 4_000_000  # of records, as they are in the file, that are kept when they were read once


class Run(JudgedRun):
    """Nothing is read before something is asked for. What was read stays as it is until `poll`, which reads on
    from there. Where several ranks wrote, a tag is that of the lowest rank that has it; `ranks` has them all.
    """

    def __init__(self, folder: str | os.PathLike[str], name: str | None = None) -> None:
        super().__init__()
        self.folder = os.fspath(folder)
        self.name = name if name is not None else os.path.basename(os.path.abspath(self.folder))
        self.reads = 0  # how often something new was read: what is made from a run holds while this stays
        self._place = place_of(self.folder)
        self._log = Log([])
        self._by_rank: dict[int, Log] = {}
        self._read = False
        self._known: dict[str, Any] = {}  # what was worked out from what was read
        self._series: dict[str, tuple[Series, Log]] = {}  # of `add_scalars`, each in a folder of its own, by tag
        self._result_stamp: tuple[int, int] | None = None
        self._is_part = False

    def poll(self) -> bool:
        """Reads what was written since the last time; True if anything was."""
        self._read = True
        self._place.refresh()
        came, lost = self._log.poll(self._place.path)
        # The charts of `add_scalars`; of a run in an object store only its own files are here.
        known = {series.folder: log for series, log in self._series.values()}
        there = [] if self._place.is_copy else series_folders(self._place.path)
        self._series = {series.tag: (series, known.get(series.folder, Log([]))) for series in there}
        came = any([came, *(log.poll(series.folder)[0] for series, log in self._series.values())])
        self.reads += came
        if lost:
            self.judge_anew()
        result = result_stamp(self._place.path)
        if came or result != self._result_stamp or not self._by_rank:
            self._result_stamp = result
            self._by_rank = self._log.by_rank()
            self._known.clear()
        return came

    def follow(self, pause_s: float = 1.0) -> Iterator[Run]:
        """Itself, each time that something was written, until the run has ended. The log of a SummaryWriter
        has when it is closed: no process on this machine has its files open any more. Where that cannot be
        told (another machine, a URL, tensorboardX), when nothing came for ten minutes."""
        while True:
            if self.poll():
                yield self
            elif self.status in ENDED or self._is_silent():
                if not self.poll():  # what came between the last look and the end
                    return
                yield self
            else:
                time.sleep(pause_s)

    @property
    def tags(self) -> dict[str, list[str]]:
        """By kind: scalars, histograms, pictures, texts, sounds, or the name of the plugin that shows them."""

        def found() -> dict[str, list[str]]:
            tags = self._whole().tags()
            scalars = dict.fromkeys([*tags.get(SCALARS, []), *self._series])
            return tags | {SCALARS: list(scalars)} if scalars else tags

        return self._once("tags", found)

    @property
    def loss_tag(self) -> str | None:
        """The tag that is the training's loss, by its name."""
        return find_loss_tag(self.tags.get(SCALARS, []))

    def scalars(self, tag: str) -> Curve:
        """Every point of a tag, NaN and Inf included, in the order in which they were written; of several files
        that were written at the same time, by step."""
        self._whole()
        if tag in self._series:
            series, log = self._series[tag]
            return log.curve(series.chart)
        return self._log_with(SCALARS, tag).curve(tag)

    @property
    def series(self) -> dict[str, dict[str, str]]:
        """By the tag that was given to `add_scalars`: the tag of each series, by its name."""
        self._whole()
        charts: dict[str, dict[str, str]] = {}
        for tag, (series, _) in self._series.items():
            charts.setdefault(series.chart, {})[series.name] = tag
        return charts

    @property
    def scalar_categories(self) -> list[ScalarCategory]:
        """What `add_custom_scalars` has asked for."""
        return scalar_charts(value for _, value in self._whole().values(SCALAR_CHARTS))

    def histograms(self, tag: str) -> list[media.Histogram]:
        return self._media(parsing.HISTOGRAMS, tag, media.histograms)

    def pictures(self, tag: str) -> list[media.LoggedPicture]:
        return self._media(parsing.PICTURES, tag, media.pictures)

    def texts(self, tag: str) -> list[media.Text]:
        """By the name given to `add_text`, to which writers add a word of their own."""
        added = f"{tag}/text_summary"
        known = added if added in self.tags.get(parsing.TEXTS, []) else tag
        return self._media(parsing.TEXTS, known, media.texts)

    def sounds(self, tag: str) -> list[media.Sound]:
        return self._media(parsing.SOUNDS, tag, media.sounds)

    def pr_curves(self, tag: str) -> list[PrCurve]:
        return self._media(PR_CURVES, tag, pr_curves)

    def steps_of(self, kind: str) -> dict[str, list[int]]:
        """By tag, the steps at which something of this kind (pictures, texts) was logged. Reads nothing."""
        return self._whole().steps(kind)

    def media_at(self, kind: str, tag: str, steps: Iterable[int]) -> list[Any]:
        """What `pictures`, `histograms`, `texts` or `sounds` have of these steps alone; of a big log, soon."""
        decode = pr_curves if kind == PR_CURVES else media.DECODERS[kind]
        return list(self._log_with(kind, tag).media(kind, tag, decode, frozenset(steps)))

    def plugin_content(self, kind: str, tag: str) -> bytes:
        """What the first event of a tag tells its plugin; later ones need not say it again."""
        log = self._log_with(kind, tag)
        first = log.steps(kind).get(tag, [])[:1]
        return next((value.plugin_content for _, value in log.values(kind, tag, frozenset(first))), b"")

    def _media(self, kind: str, tag: str, decode: Decode[_Medium]) -> list[_Medium]:
        return list(self._log_with(kind, tag).media(kind, tag, decode))

    @overload
    def records(self, kind: type[_Kind], /) -> Iterator[_Kind]: ...

    @overload
    def records(self, *kinds: type) -> Iterator[Record]: ...

    def records(self, *kinds: type) -> Iterator[Any]:
        """Our own records of these classes, or all of them, in the order in which they were written."""
        log = self._whole()
        if not kinds or Scalars in kinds or log.size_of_records(*kinds) > _KEPT_BYTES:
            return log.records(*kinds)
        # A report asks a dozen times for the tables of all layers.
        names = ", ".join(kind.__name__ for kind in kinds)
        return iter(self._once(f"records of {names}", lambda: list(log.records(*kinds))))

    def records_at(self, step: int, *kinds: type) -> Iterator[Record]:
        """As `records`, of one step; no other is read for it."""
        return self._whole().records_at(step, *kinds)

    def some_records(self, most: int, kind: type[_Kind]) -> list[_Kind]:
        """Of each file of the log at most so many, evenly, and the last: no other is read for it."""
        return [each for each in self._whole().some_records(most, kind) if isinstance(each, kind)]

    def last_record(self, kind: type[_Kind]) -> _Kind | None:
        """Where one tells all that those before it did."""
        return next(reversed(self.some_records(1, kind)), None)

    @property
    def record_kinds(self) -> set[str]:
        """The names of the classes of which there are records; those of scalars are told by `tags`."""
        return self._once("record kinds", lambda: self._whole().record_kinds())

    def rows(self, kind: str, root: str | None = None) -> list[TensorRows]:
        """The tables of one kind (activation, parameter, ...), of one model or of all, by step."""
        tables = self.records(TensorRows)
        wanted = [rows for rows in tables if rows.table.kind == kind and root in (None, rows.table.root)]
        return sorted(wanted, key=lambda rows: rows.step)

    @property
    def ranks(self) -> dict[int, Run]:
        """Each rank's own part of the run; of a run in one process, rank 0 alone."""
        return {rank: self._part(log, rank) for rank, log in self._ranks().items()}

    @property
    def facts(self) -> Facts:
        return self._once("facts", lambda: gather(self.records(*KINDS), said_hparams(self._with_hparam_notes())))

    @property
    def hparams(self) -> dict[str, HparamValue]:
        """Those given to `add_hparams`, and those found in the script."""
        return self.facts.hparams

    @property
    def hparam_metrics(self) -> dict[str, float]:
        """Those given to `add_hparams`, by their tags: of each the last value."""
        return self._once("metrics", lambda: said_metrics(self._with_hparam_notes()))

    @property
    def status(self) -> str:
        """finished | crashed | stopped | running | killed | unknown (the log of another tool)."""
        names = [file.name for file in self._whole().files]
        return tell_status(self.facts, self._result(), names, self.changed)

    @property
    def is_watched(self) -> bool:
        """Whether torch-debugger looked on: only then are findings to be expected."""
        return self.facts.run is not None or self._result() is not None

    @property
    def steps(self) -> int:
        """The steps that were counted; of the log of another tool, the highest step in it."""
        end = self.facts.end
        return end.steps if end is not None else self._once("steps", self._last_step)

    @property
    def changed(self) -> float:
        """When something was last written, in seconds since the epoch; of a stored run, its last scalar."""
        if self._place.is_copy:
            return (self._time_span() or (0.0, 0.0))[1]
        return max((file.changed for file in self._whole().files), default=0.0)

    @property
    def duration_s(self) -> float | None:
        """From the start of the run, or its first scalar, to its last one; None without scalars."""
        span, run = self._time_span(), self.facts.run
        return None if span is None else max(0.0, span[1] - (run.started if run is not None else span[0]))

    @property
    def read_bytes(self) -> int:
        """How much of the log has been read; also told while it is."""
        return self._log.read_bytes

    @property
    def damage(self) -> list[str]:
        """What could not be read, and why: sentences. Empty where all is well."""
        said = [sentence for file in self._whole().files for sentence in file.damage]
        return [self._place.fault, *said] if self._place.fault else said

    def to_pandas(self, *tags: str) -> pandas.DataFrame:
        """The scalars, these or all: one row per point, with the columns tag, step, value and time."""
        chosen = tags or self.tags.get(SCALARS, [])
        return to_frame({tag: self.scalars(tag) for tag in chosen})

    def __repr__(self) -> str:
        return f"<Run {self.name!r} in {self.folder!r}>"

    def _whole(self) -> Log:
        if not self._read:
            self.poll()
        return self._log

    def _ranks(self) -> dict[int, Log]:
        self._whole()
        return self._by_rank

    def _part(self, log: Log, rank: int) -> Run:
        part = Run(self.folder, f"{self.name}, rank {rank}")
        part._place, part._log, part._by_rank, part._read = self._place, log, {rank: log}, True
        part._is_part = True
        part._series = self._series if rank == min(self._by_rank) else {}
        return part

    def _once(self, name: str, make: Callable[[], _Answer]) -> _Answer:
        self._whole()
        if name not in self._known:
            self._known[name] = make()
        return cast(_Answer, self._known[name])

    def _log_with(self, kind: str, tag: str) -> Log:
        """Of the lowest rank that has this tag."""
        for log in self._ranks().values():
            if log.has(kind, tag):
                return log
        raise missing(kind, tag, self.tags.get(kind, []), self.name)

    def _with_hparam_notes(self) -> list[Log]:
        return [self._whole(), *(Run(folder)._whole() for folder in hparam_folders(self._place.path))]

    def _is_silent(self) -> bool:
        paths = [] if self._place.is_copy else [file.path for file in self._log.files]
        return bool(self._log.files) and self.status == "unknown" and not may_grow(paths, self.changed)

    def _last_step(self) -> int:
        """A run that was killed may have been further than its log."""
        result = self._result()
        recorded = result.steps if result is not None else 0
        return max([recorded, *(log.last_step() for log in self._ranks().values())])

    def _time_span(self) -> tuple[float, float] | None:
        return self._once("span", lambda: self._whole().time_span())


# Names that were asked for and are not there.
_MOST_NAMED = 8


class NotInArchiveError(DebuggerError, KeyError):
    """A tag or a run that is not there; its text says which ones are."""

    def __str__(self) -> str:
        return str(self.args[0])


def missing(kind: str, name: str, there: Sequence[str], run: str) -> NotInArchiveError:
    return NotInArchiveError(f"The run {run!r} has no {kind} {name!r}. {_what_there_is(name, there)}")


def missing_run(name: str, there: Sequence[str], folder: str) -> NotInArchiveError:
    return NotInArchiveError(f"There is no run {name!r} in {folder!r}. {_what_there_is(name, there)}")


def _what_there_is(name: str, there: Sequence[str]) -> str:
    if not there:
        return "There are none at all."
    near = difflib.get_close_matches(name, there[:1000], _MOST_NAMED) or list(there[:_MOST_NAMED])
    more = f", and {len(there) - len(near)} more" if len(there) > len(near) else ""
    return f"There are {', '.join(map(repr, near))}{more}."
