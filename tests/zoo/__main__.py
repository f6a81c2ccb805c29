"""Runs scripts of the zoo and says which were judged right.

    python -m tests.zoo [--sample] [--only GLOB] [--shard K/N] [--changed [--base main]] [--results FOLDER]

Everything if nothing is asked for; `make zoo ONLY=... SHARD=... CHANGED=1` is the same. Where a finding carries
an edit, the edit is applied to a copy of the script and the copy is run: the finding must be gone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from tests.times import ZOO_TIMES, slowest
from tests.zoo.edits import edited, wrong_edit
from tests.zoo.judging import complaint_about
from tests.zoo.runner import Job, Ran, preload, run_all
from tests.zoo.scripts import expected_of, is_paced, launch_of, name_of
from tests.failures import keep
from tests.zoo.selection import PARTS, choose, count_commits

ALSO_BY_COMMAND = 80  # one in so many is also run as users run it


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", action="store_true", help="for every check two scripts, and a tenth of the rest")
    parser.add_argument("--only", default="", metavar="GLOB", help="a path below zoo, or a check")
    parser.add_argument("--shard", default="", metavar="K/N", help="the K-th of N parts")
    parser.add_argument("--changed", action="store_true", help="what the working tree changes may concern")
    parser.add_argument("--base", default="main", help="with --changed: against this branch or commit")
    parser.add_argument("--results", type=Path, help="keep the JSON and the output of every run here")
    chosen = parser.parse_args()
    scripts = choose(chosen.only, chosen.shard, chosen.base if chosen.changed else "", chosen.sample)
    if not scripts:
        print("no script of the zoo is concerned" if chosen.changed else "no script of the zoo matches")
        return 0 if chosen.changed else 2
    preload()
    with tempfile.TemporaryDirectory() as folder:
        results = chosen.results or Path(folder)
        results.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        jobs = [Job(script) for script in scripts]
        jobs += [Job(script, by_command=True) for script in scripts[::ALSO_BY_COMMAND] if not launch_of(script)]
        progress = Progress(len(jobs))
        runs = run_in_turn(jobs, results, progress.show)
        plain = {ran.job.script: ran for ran in runs if not ran.job.by_command}
        jobs = [job for job in map(edited, plain.values()) if job is not None]
        if chosen.sample:
            jobs = jobs[count_commits() % PARTS :: PARTS]
        progress = Progress(len(jobs), "edits")
        tries = [(ran, plain[ran.job.script]) for ran in run_in_turn(jobs, results, progress.show)]
    return report(runs, tries, time.monotonic() - began)


def run_in_turn(jobs: list[Job], results: Path, ended: Callable[[Ran], None]) -> list[Ran]:
    """What is judged by its speed comes last, with a core for each, and what is judged by its pace one by one."""
    paced = [job for job in jobs if is_paced(job.script)]
    timed = [job for job in jobs if name_of(job.script).startswith("speed/") and job not in paced]
    rest = [job for job in jobs if job not in timed and job not in paced]
    turns = ((rest, 0), (timed, 0), (paced, 1))
    return [ran for turn, at_once in turns for ran in run_all(turn, results, at_once=at_once, ended=ended)]


class Progress:
    """A line a minute where nobody watches, one that is written over where somebody does."""

    def __init__(self, count: int, what: str = "scripts") -> None:
        self.count, self.done, self.what = count, 0, what
        self.told = time.monotonic()

    def show(self, ran: Ran) -> None:
        self.done += 1
        line = f"zoo: {self.done} of {self.count} {self.what}"
        if sys.stderr.isatty():
            print(f"\r{line} ", end="\n" if self.done == self.count else "", file=sys.stderr, flush=True)
        elif time.monotonic() - self.told > 60 or self.done == self.count:
            self.told = time.monotonic()
            print(line, file=sys.stderr, flush=True)


def report(runs: list[Ran], tries: list[tuple[Ran, Ran]], wall_s: float) -> int:
    costs = {title(ran): [ran.wall_s, ran.processor_s] for ran in runs}
    wrong = {title(ran): complaint_about(ran) for ran in runs}
    unmended = {title(ran): wrong_edit(ran, before) for ran, before in tries}
    known = [title(ran) for ran, _ in tries if expected_of(ran.job.script).edit_is_not_enough]
    ZOO_TIMES.parent.mkdir(exist_ok=True)
    ZOO_TIMES.write_text(json.dumps(costs))
    families: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0, 0.0])
    for name, (used_wall_s, used_s) in costs.items():
        for row in (families[name.split("/")[0]], families["all"]):
            row[0] += 1
            row[1] += bool(wrong[name])
            row[2] += used_wall_s
            row[3] += used_s
    print(f"{'family':<12} {'scripts':>7} {'right':>6} {'wrong':>6} {'wall s':>8} {'processor s':>12}")
    for family, (count, bad, used_wall_s, used_s) in sorted(families.items(), key=lambda item: item[1][0]):
        print(f"{family:<12} {count:>7} {count - bad:>6} {bad:>6} {used_wall_s:>8.0f} {used_s:>12.0f}")
    print("\nslowest (wall s, processor s)", *slowest(costs, 10), sep="\n")
    mended = sum(bool(complaint) == (name in known) for name, complaint in unmended.items())
    print(f"\nedits of ours that make their finding go away: {mended} of {len(unmended)}", end="")
    print(f" ({len(known)} are known not to)" if known else "")
    failures = [f"{name}: {complaint}" for name, complaint in (wrong | unmended).items() if complaint]
    wrong_lines = [f"WRONG  {failure}" for failure in failures]
    print(*wrong_lines, sep="\n")
    keep("zoo", wrong_lines)
    print(f"{len(runs)} scripts and {len(unmended)} edits in {wall_s:.0f} s")
    print(f"{len(runs) + len(unmended) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


def title(ran: Ran) -> str:
    what = " with our edit" if ran.job.edited is not None else " by the command" if ran.job.by_command else ""
    return name_of(ran.job.script) + what


if __name__ == "__main__":
    sys.exit(main())
