"""What a run holds beside numbers, by tag: histograms, pictures, texts, sounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from torch_debugger.archive import media, parsing
from torch_debugger.archive.log import Decode, Log
from torch_debugger.archive.pr_curves import KIND as PR_CURVES
from torch_debugger.archive.pr_curves import PrCurve, pr_curves

_Medium = TypeVar("_Medium")


class LoggedMedia:
    """The part of a `Run` that reads them."""

    @property
    def tags(self) -> dict[str, list[str]]:
        raise NotImplementedError

    def histograms(self, tag: str) -> list[media.Histogram]:
        return self._media(parsing.HISTOGRAMS, tag, media.histograms)

    def pictures(self, tag: str) -> list[media.Picture]:
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
        found = self._log_with(kind, tag).media(kind, tag, decode, frozenset(steps))
        return list(found)

    def plugin_content(self, kind: str, tag: str) -> bytes:
        """What the first event of a tag tells its plugin; later ones need not say it again."""
        log = self._log_with(kind, tag)
        first = log.steps(kind).get(tag, [])[:1]
        return next((value.plugin_content for _, value in log.values(kind, tag, frozenset(first))), b"")

    def _media(self, kind: str, tag: str, decode: Decode[_Medium]) -> list[_Medium]:
        return list(self._log_with(kind, tag).media(kind, tag, decode))

    def _log_with(self, kind: str, tag: str) -> Log:
        raise NotImplementedError

    def _whole(self) -> Log:
        raise NotImplementedError
