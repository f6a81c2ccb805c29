"""Freezes what the tool answers today, and compares it with what it answers after a change of its inside.

    python tools/oracle.py freeze FOLDER [--only GLOB] [--shard K/N]
    python tools/oracle.py compare BEFORE AFTER [--all]

`freeze` runs every script of the zoo and of benchmarks/blind and keeps each result as JSON, the pages of the
checks, `--help` of every command, the public names with their signatures, and some logs. `compare` says which
answers differ: numbers may differ by a twentieth, everything else must be the same. The logs of BEFORE are
judged by the code of today, which must still read every record in them. Freeze before and after on one
machine with one torch. Several shards may be frozen into the same folder.
"""

from __future__ import annotations

import argparse
import gzip
import inspect
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))
BLIND = REPOSITORY / "benchmarks" / "blind"
TOLERANCE = 0.05  # of a number in a message or in the evidence
LOGS = 40
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?", re.IGNORECASE)
# What the clock decides and not the code that is compared.
UNSTEADY = ("cost", "memory", "run")
TIMED = re.compile(r".*_(s|ms)|expected_gain|pid|looks")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/oracle.py", description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    freeze_verb = verbs.add_parser("freeze", help="run everything and keep the answers")
    freeze_verb.add_argument("folder", type=Path)
    freeze_verb.add_argument("--only", default="", metavar="GLOB", help="a path below zoo, or a check")
    freeze_verb.add_argument("--shard", default="1/1", metavar="K/N", help="the K-th of N parts of the scripts")
    compare_verb = verbs.add_parser("compare", help="list the answers that differ")
    compare_verb.add_argument("before", type=Path)
    compare_verb.add_argument("after", type=Path)
    compare_verb.add_argument("--all", action="store_true", help="say how each differs, not the first forty")
    chosen = parser.parse_args()
    if chosen.verb == "freeze":
        freeze(chosen.folder.absolute(), chosen.only, chosen.shard)
        return 0
    return compare(chosen.before.absolute(), chosen.after.absolute(), math.inf if chosen.all else 40)


def freeze(folder: Path, only: str, shard: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    part = shard.replace("/", "-of-")
    keep(folder / f"scripts-{part}.json.gz", run_scripts(only, shard))  # first: no torch may be imported yet
    if shard.startswith("1/"):
        keep(folder / "surface.json.gz", surface())
        freeze_logs(folder / "logs.tar.gz")


def keep(file: Path, answers: dict[str, Any]) -> None:
    with gzip.open(file, "wt", encoding="utf-8") as out:
        json.dump(answers, out, indent=0, sort_keys=True)


def surface() -> dict[str, Any]:
    """What can be seen without running a script."""
    from torch_debugger.checks.catalog import catalog

    answers: dict[str, Any] = {}
    pages = sorted((REPOSITORY / "docs" / "checks").glob("*.md"))
    answers["docs/checks"] = "\n".join(page.read_text() for page in pages)
    answers["catalog"] = [[check.id, check.name, check.title, check.status] for check in catalog()]
    answers["help"] = command("--help")
    for verb in re.findall(r"^ {4}([a-z][a-z-]+) ", answers["help"], re.MULTILINE):
        answers[f"help of {verb}"] = command(verb, "--help")
    return answers | signatures()


def command(*words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "torch_debugger", *words],
        capture_output=True, text=True, env=os.environ | {"COLUMNS": "100", "PYTHONPATH": path_of_children()},
    )  # fmt: skip
    return ran.stdout + ran.stderr


def path_of_children() -> str:
    return os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])


def signatures() -> dict[str, str]:
    import torch_debugger

    found = {"__all__": " ".join(sorted(torch_debugger.__all__))}
    for name in torch_debugger.__all__:
        public = getattr(torch_debugger, name)
        if not isinstance(public, type):
            found[name] = str(inspect.signature(public)) if callable(public) else type(public).__name__
            continue
        for attribute, value in inspect.getmembers(public):
            if not attribute.startswith("_") or attribute == "__init__":
                told = str(inspect.signature(value)) if inspect.isfunction(value) else type(value).__name__
                found[f"{name}.{attribute}"] = re.sub(r" at 0x\w+", "", told)
    return found


def run_scripts(only: str, which: str) -> dict[str, Any]:
    from tests.zoo.__main__ import Progress, run_in_turn
    from tests.zoo.runner import Job, preload, run_all
    from tests.zoo.selection import choose, shard

    of_the_zoo = [Job(script) for script in shard(choose(only), which)]
    blind = [Job(script) for script in shard([] if only else sorted(BLIND.glob("*/*.py")), which)]
    preload()
    progress = Progress(len(of_the_zoo) + len(blind))
    with tempfile.TemporaryDirectory() as results:
        runs = run_all(blind, Path(results), ended=progress.show)
        runs += run_in_turn(of_the_zoo, Path(results), progress.show)
    return {
        os.path.relpath(ran.job.script, REPOSITORY): ran.failure if ran.result is None else steady(ran.result)
        for ran in runs
    }


def steady(result: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in result.items() if key not in UNSTEADY}
    kept["probes_removed"] = result["cost"]["probes_removed"]
    # Where the checkout lies, and the folders that are made for scripts that a diff makes.
    return json.loads(re.sub(r"(?<![\w.])/(?:[\w.+-]+/)+", "", json.dumps(kept)))


def freeze_logs(file: Path) -> None:
    """Of every family some runs with their logs, which a later version must still read."""
    from tests.zoo.scripts import ZOO, broken_scripts, launch_of

    scripts = [script for script in broken_scripts() if script.exists() and not launch_of(script)]
    first = [script for script in scripts if script.name == "broken.py" and script.is_relative_to(ZOO)]
    with tempfile.TemporaryDirectory() as folder:
        waiting = first[:: max(1, len(first) // LOGS)]
        running: list[subprocess.Popen[bytes]] = []
        for script in waiting:
            run = Path(folder) / f"{script.parents[1].name}-{script.parent.name}"
            words = ["run", "--quiet", "--log-dir", str(run), str(script)]
            running.append(
                subprocess.Popen(
                    [sys.executable, "-m", "torch_debugger", *words],
                    env=os.environ | {"PYTHONPATH": path_of_children(), "OMP_NUM_THREADS": "1"},
                    cwd=folder,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            while sum(child.poll() is None for child in running) >= (os.cpu_count() or 1):
                running[0].wait() if running[0].poll() is None else running.append(running.pop(0))
        for child in running:
            child.wait()
        judged = {run.name: judged_again(run) for run in sorted(Path(folder).iterdir()) if run.is_dir()}
        (Path(folder) / "judged.json").write_text(json.dumps(judged))
        with tarfile.open(file, "w:gz") as archive:
            archive.add(folder, arcname="logs")


def judged_again(run: Path) -> dict[str, Any]:
    import torch_debugger

    for result in run.rglob("result.json"):
        result.unlink()
    opened = torch_debugger.Run(run)
    kinds = Counter(type(record).__name__ for record in opened.records())
    findings = [asdict(finding) for finding in opened.findings]
    return {"findings": json.loads(json.dumps(findings, default=str)), "records": dict(kinds)}


def compare(before: Path, after: Path, most: float) -> int:
    differences = [f"log {name}" for name in different_logs(before)]
    old, new = answers_in(before), answers_in(after)
    differences += [f"{name}: only before" for name in sorted(old.keys() - new.keys())]
    differences += [f"{name}: only after" for name in sorted(new.keys() - old.keys())]
    for name in sorted(old.keys() & new.keys()):
        told = next(differing(old[name], new[name]), None)
        if told:
            differences.append(f"{name}{told}")
    print(*differences[: int(min(most, len(differences)))], sep="\n")
    print(f"{len(old)} answers before, {len(new)} after; {len(differences)} differ")
    return 1 if differences else 0


def answers_in(folder: Path) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for file in sorted(folder.glob("*.json.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as held:
            answers |= json.load(held)
    return answers


def different_logs(before: Path) -> Iterator[str]:
    if not (before / "logs.tar.gz").exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(before / "logs.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        logs = Path(folder) / "logs"
        frozen = json.loads((logs / "judged.json").read_text())
        for name, was in frozen.items():
            told = next(differing(was, judged_again(logs / name)), None)
            if told:
                yield f"{name}{told}"
        shutil.rmtree(logs)


def differing(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """The places where two answers differ, each in a line."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(key for key in old.keys() | new.keys() if not TIMED.fullmatch(key)):
            if key not in old or key not in new:
                yield f"{place}.{key}: {'gone' if key in old else 'new'}"
            else:
                yield from differing(old[key], new[key], f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{place}: {shortened(names_of(old))} became {shortened(names_of(new))}"
        for index, (left, right) in enumerate(zip(old, new, strict=False)):
            yield from differing(left, right, f"{place}[{index}]")
    elif isinstance(old, str) and isinstance(new, str):
        if NUMBER.sub("#", old) != NUMBER.sub("#", new) or not alike(NUMBER.findall(old), NUMBER.findall(new)):
            yield f"{place}: {shortened(old)} became {shortened(new)}"
    elif old != new and not (is_number(old) and is_number(new) and alike([old], [new])):
        yield f"{place}: {old!r} became {new!r}"


def names_of(items: list[Any]) -> str:
    return str([item.get("name", item) if isinstance(item, dict) else item for item in items])


def shortened(text: str) -> str:
    return text if len(text) < 160 else f"{text[:150]}..."


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def alike(old: Iterable[Any], new: Iterable[Any]) -> bool:
    pairs = zip((as_float(value) for value in old), (as_float(value) for value in new), strict=True)
    return all(
        left == right or abs(left - right) <= TOLERANCE * max(abs(left), abs(right)) or left != left
        for left, right in pairs
    )


def as_float(value: Any) -> float:
    return float(str(value).replace(",", "").rstrip(".") or 0)


if __name__ == "__main__":
    sys.exit(main())
