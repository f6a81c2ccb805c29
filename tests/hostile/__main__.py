"""Hostile training programs, each run by plain Python and under torch-debugger, and compared."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from tests.hostile.allowed import Allowed
from tests.hostile.catalog import OTHERS, PLAINEST, named, programs
from tests.hostile.grammar import Program
from tests.hostile.judging import Verdict, judge, shrink
from tests.hostile.running import PLAIN, WATCHED, run

SIDES = {"torch-debugger": WATCHED, "plain": PLAIN}


def main() -> int:
    options = _options()
    chosen = _chosen(options)
    how = SIDES[options.against]
    verdicts = []
    with _folder(options.keep) as folder, ThreadPoolExecutor(options.jobs) as pool:
        _try_the_plainest(folder / "plainest")
        roots = {number: folder / f"{number:05}" for number in chosen}
        runs = {pool.submit(judge, program, how, roots[number]): number for number, program in chosen.items()}
        progress = _Progress(len(runs))
        for done in as_completed(runs):
            number, verdict = runs[done], done.result()
            verdicts.append(verdict)
            progress.add(verdict)
            if verdict.failures:
                progress.say(_failure(number, verdict, options))
            elif options.keep is None:
                shutil.rmtree(roots[number], ignore_errors=True)
        distinct = _distinct(verdicts)
        alone = list(pool.map(lambda pair: shrink(pair[1], how, folder / f"shrunk_{pair[0]}"), enumerate(distinct)))
        progress.say(_summary(verdicts, alone, options))
    return 1 if any(verdict.failures for verdict in verdicts) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many programs (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="which ones: the same seed makes the same programs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the folders of the runs there")
    parser.add_argument("--only", type=int, metavar="N", help="program N alone; its folder is kept")
    parser.add_argument("--kind", metavar="NAME", help="the program of this piece alone, or of several: "
                        "NAME+NAME; 'each' takes all of them, one by one")  # fmt: skip
    parser.add_argument("--against", choices=SIDES, default="torch-debugger", help="plain: look for programs "
                        "that differ from themselves")  # fmt: skip
    parser.add_argument("--show", action="store_true", help="print the text of the programs, and run none")
    options = parser.parse_args()
    if options.only is not None and options.keep is None:
        options.keep = Path(tempfile.mkdtemp(prefix="hostile_"))
    return options


def _chosen(options: argparse.Namespace) -> dict[int, Program]:
    if options.kind == "each":
        chosen = {number: named(piece.name) for number, piece in enumerate(OTHERS)}
    elif options.kind is not None:
        chosen = {0: named(options.kind)}
    elif options.only is not None:
        chosen = {options.only: programs(options.only + 1, options.seed)[options.only]}
    else:
        chosen = dict(enumerate(programs(options.count, options.seed)))
    if options.show:
        for program in chosen.values():
            print(program.text)
        sys.exit()
    return chosen


def _try_the_plainest(root: Path) -> None:
    """Where not even that one runs, every comparison would be one of two failures."""
    plainest = run(named("+".join(piece.name for piece in PLAINEST)), PLAIN, root)
    if plainest.ended != "exit 0":
        sys.exit(f"The plainest program ends with {plainest.ended} here:\n{plainest.stderr.decode()}")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="hostile_") as folder:
        yield Path(folder)


class _Progress:
    """One line that is written over, where there is a terminal; else a line now and then."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._failed = total, 0, 0
        self._started = self._spoken = time.monotonic()

    def add(self, verdict: Verdict) -> None:
        self._done += 1
        self._failed += bool(verdict.failures)
        now = time.monotonic()
        left = (now - self._started) / self._done * (self._total - self._done)
        line = f"{self._done} of {self._total} programs, {self._failed} differ, {left / 60:.1f} minutes left"
        if sys.stdout.isatty():
            print(f"\r\x1b[K{line}", end="", flush=True)
        elif now - self._spoken > 30 or self._done == self._total:
            self._spoken = now
            print(line, flush=True)

    def say(self, text: str) -> None:
        print("\r\x1b[K" + text if sys.stdout.isatty() else text, flush=True)


def _failure(number: int, verdict: Verdict, options: argparse.Namespace) -> str:
    again = f"--only {number} --seed {options.seed}" if options.kind is None else f"--kind {_names(verdict.program)}"
    lines = [f"program {number} ({' + '.join(verdict.program.names)}), plain: {verdict.plain_ended}"]
    lines += [f"    {difference}" for difference in verdict.failures]
    return "\n".join([*lines, f"    python -m tests.hostile {again}"])


def _names(program: Program) -> str:
    return "+".join(program.names)


def _distinct(verdicts: list[Verdict]) -> list[Verdict]:
    """Of failures in the same properties, the program with the fewest pieces."""
    fewest: dict[object, Verdict] = {}
    for verdict in sorted(verdicts, key=lambda verdict: len(verdict.program.names)):
        if verdict.failures:
            fewest.setdefault((verdict.kinds(), str(verdict.failures[0])[:60]), verdict)
    return list(fewest.values())


def _summary(verdicts: list[Verdict], alone: list[Verdict], options: argparse.Namespace) -> str:
    failed = sum(bool(verdict.failures) for verdict in verdicts)
    ended = Counter(verdict.plain_ended for verdict in verdicts).most_common()
    lines = [f"{len(verdicts)} programs, {failed} differ; as plain programs they ended with "
             + ", ".join(f"{how} ({count})" for how, count in ended)]  # fmt: skip
    factors = sorted(verdict.factor for verdict in verdicts)
    lines.append(f"processor time against plain: {factors[len(factors) // 2]:.2f} times at the median, "
                 f"{factors[-1]:.2f} at most")  # fmt: skip
    lines += _counted(sum((verdict.allowed for verdict in verdicts), Counter[Allowed]()))
    vague = Counter(difference.what for verdict in verdicts for difference in verdict.undecided)
    lines += [f"not compared, since two plain runs differ too: {what} ({count})" for what, count in vague.most_common()]
    for verdict in alone:
        lines += ["to blame: " + " + ".join(verdict.program.names), *(f"    {one}" for one in verdict.failures[:6])]
        lines.append(f"    python -m tests.hostile --kind {_names(verdict.program)}")
    if options.keep is not None:
        lines.append(f"the folders are kept in {options.keep}")
    return "\n".join(lines)


def _counted(allowed: Counter[Allowed]) -> list[str]:
    lines = []
    for entry, count in allowed.most_common():
        lines.append(f"allowed, {count} times: {entry.reason}")
        lines.append(f"    {entry.difference.pattern[:150]}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
