"""What differs between two runs of a program, as sentences that the list of allowed differences can be held
against."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.hostile.allowed import CPU_FACTOR, CPU_SECONDS, MEMORY_MB, MEMORY_SHARE
from tests.hostile.running import Run

# The report on stderr: its head (behind what the script wrote last, where that did not end its line), all
# up to the rule that closes it, and its foot, where it has one.
REPORT = re.compile(
    r"(error|warning|note): [\w-]+  TD\d+(, \d+ % sure)? ─+\n(.*\n)*?─{20,}\n\n?"
    r"(^  (run|cost|log|more) .*\n( {12}.*\n)*)*",
    re.MULTILINE,
)
NOTICE = re.compile(r"^torch-debugger: .*\n", re.M)
OUR_FRAME = re.compile(r'File "[^"\n]*/torch_debugger/[^"\n]*", line \d+.*')


@dataclass(frozen=True)
class Difference:
    what: str  # the compared property
    detail: str

    def __str__(self) -> str:
        return f"{self.what}: {self.detail}"


def differences(plain: Run, other: Run) -> list[Difference]:
    found = _scalar("ended", plain.ended, other.ended)
    found += _text("stdout", plain.stdout, other.stdout)
    own, notices = own_part(
        other.stderr.decode(errors="surrogateescape"), plain.stderr.decode(errors="surrogateescape")
    )
    found += _text("stderr", plain.stderr, own.encode(errors="surrogateescape"))
    found += [Difference("notice", notice) for notice in notices]
    for what in ("files", "temporary", "left_over"):
        found += _value(what, getattr(plain, what), getattr(other, what))
    found += _told(plain.told, other.told)
    found += _costs(plain, other)
    return found + _our_faults(other)


def own_part(stderr: str, plain: str) -> tuple[str, list[str]]:
    """The script's part of stderr, and the sentences of ours in it; the report is left out."""
    without = REPORT.sub("", stderr)
    theirs = Counter(NOTICE.findall(plain))
    notices: list[str] = []

    def take(found: re.Match[str]) -> str:
        if theirs[found.group()] > 0:
            theirs[found.group()] -= 1
            return found.group()
        notices.append(found.group().strip())
        return ""

    return NOTICE.sub(take, without), notices


def _scalar(what: str, one: Any, two: Any) -> list[Difference]:
    return [] if one == two else [Difference(what, f"{one!r} -> {two!r}")]


def _text(what: str, one: bytes, two: bytes) -> list[Difference]:
    """The first lines that differ say enough."""
    if one == two:
        return []
    before, after = (text.decode(errors="backslashreplace").splitlines() for text in (one, two))
    changed = [line[:300] for line in difflib.ndiff(before[:3000], after[:3000]) if line[0] in "+-"][:6]
    return [Difference(what, " | ".join(changed) or f"{len(one)} -> {len(two)} bytes")]


def _value(what: str, one: Any, two: Any) -> list[Difference]:
    if one == two:
        return []
    if isinstance(one, dict) and isinstance(two, dict):
        keys = sorted({*one, *two}, key=str)
        return [found for key in keys for found in _value(f"{what}[{key}]", one.get(key), two.get(key))]
    if isinstance(one, list) and isinstance(two, list):
        before, after = Counter(map(str, one)), Counter(map(str, two))
        lost = [Difference(what, f"- {item}") for item in (before - after).elements()]
        more = [Difference(what, f"+ {item}") for item in (after - before).elements()]
        return lost + more or [Difference(what, f"another order: {_short(one)} -> {_short(two)}")]
    return [Difference(what, f"{_short(one)} -> {_short(two)}")]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "..."


def _told(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> list[Difference]:
    found = []
    before, after = _by_moment(one), _by_moment(two)
    for moment in sorted({*before, *after}):
        if moment not in before or moment not in after:
            found.append(Difference("witness", f"{moment}: {moment in before} -> {moment in after}"))
            continue
        for what, value in before[moment].items():
            found += _value(what, value, after[moment].get(what))
    return list(dict.fromkeys(found))


def _by_moment(told: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Each record under a name that does not depend on which of several children came first."""
    records: dict[str, dict[str, Any]] = {}
    for record in sorted(told, key=lambda record: str((record["child"], record["weights"]))):
        base = f"{_whose(record)}{record['moment']}"
        number = sum(name.startswith(base + " #") for name in records) + 1
        records[f"{base} #{number}"] = {name: value for name, value in record.items() if name != "moment"}
    return records


def _whose(record: dict[str, Any]) -> str:
    if record["child"]:
        return "child "
    return "spawned " if "multiprocessing.spawn" in str(record["original_arguments"]) else ""


def _costs(plain: Run, other: Run) -> list[Difference]:
    found = []
    if other.peak_mb > plain.peak_mb * (1 + MEMORY_SHARE) + MEMORY_MB:
        found.append(Difference("peak memory", f"{plain.peak_mb:.0f} -> {other.peak_mb:.0f} MB"))
    if other.processor_s > plain.processor_s * CPU_FACTOR + CPU_SECONDS:
        found.append(Difference("processor time", f"{plain.processor_s:.1f} -> {other.processor_s:.1f} s"))
    return found


def _our_faults(run: Run) -> list[Difference]:
    found = []
    for stream in (run.stdout, run.stderr):
        for frame in sorted(set(OUR_FRAME.findall(stream.decode(errors="replace")))):
            found.append(Difference("our frame in a traceback", frame))
    if run.result is not None:
        for fault in run.result.get("cost", {}).get("probes_removed", []):
            found.append(Difference("probe removed", str(fault)))
    return found
