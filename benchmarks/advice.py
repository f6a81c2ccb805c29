"""Whether advice on speed holds: the zoo's broken scripts against the fixed ones.

    python -m benchmarks.advice [--rounds 3] [--gpu] [--write FILE] [CHECK ...]

For every home of the family speed (or those named) the broken and the fixed script run in turns, watched as
`torch-debugger run --in-process` does, and its lookalikes once. Printed: the kind of time or of bytes that
the finding claimed, the gain it promised, broken over fixed for that kind and for the whole step (medians
over the rounds), whether the finding came in every round, and whether the others stayed silent. `1 - 1/ratio`
is the gain that was had. Homes that need a GPU are left out without one. `--write` keeps everything as JSON;
tests/gpu reads what a GPU has given.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.advice_runs import Ran, has_gpu, run
from benchmarks.numerics import show
from tests.zoo.scripts import ZOO, expected_of, needs, patches_of

PARTS = ("data_wait", "copy", "forward", "backward", "optimizer", "evaluation", "logging", "other")
# What a check claims, where the names of its evidence do not tell.
CLAIMED = {
    "device-waited-for-each-step": "device idle",
    "unpinned-copy": "copies to the device",
    "launch-bound": "device idle",
    "tf32-off": "products",
    "no-autocast": "products",
    "sizes-not-multiple-of-8": "products",
    "convs-not-channels-last": "device busy",
    "recompiles-each-step": "compiling",
    "graph-breaks": "compiling",
    "small-batch": "all steps",
    "steps-get-slower": "all steps",
    "tensors-pile-up": "peak bytes",
}
# Not of a step: the scripts make different ones, or most of it comes before the steps that are measured.
WHOLE = {"all steps": "all steps", "compiling": "run"}
HEADING = ("check", "claimed", "promised", "had of it", "of a step", "found", "others")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--gpu", action="store_true", help="only homes that need a GPU")
    parser.add_argument("checks", nargs="*")
    chosen = parser.parse_args()
    homes = sorted(path.parent for path in (ZOO / "speed").glob("*/broken.py"))
    homes = [home for home in homes if not chosen.checks or home.name in chosen.checks]
    homes = [home for home in homes if needs(home / "broken.py") or not chosen.gpu]
    gpu = has_gpu()
    can_run = [home for home in homes if gpu or not needs(home / "broken.py")]
    rows, kept = [HEADING], {}
    for home in can_run:
        began = time.perf_counter()
        for broken in sorted(home.glob("broken*.py")):
            row, kept[f"{home.name}/{broken.stem}"] = compared(broken, chosen.rounds)
            rows.append(row)
            print(f"{'  '.join(row)}  ({time.perf_counter() - began:.0f} s)", flush=True)
        if chosen.write:
            chosen.write.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    print()
    show(rows)
    for home in homes:
        if home not in can_run:
            print(f"{home.name}: needs a GPU, left out")


def compared(broken: Path, rounds: int) -> tuple[tuple[str, ...], dict[str, Any]]:
    home, check = broken.parent, expected_of(broken).check
    name = broken.name.replace("broken", "fixed")
    fixed = home / (name if name in patches_of(home) else "fixed.py")
    runs = [(run(broken), run(fixed)) for _ in range(rounds)]
    quiet = {path.stem: run(path) for path in sorted(home.glob("lookalike*.py"))} if broken.stem == "broken" else {}
    findings = [ran.found(check) for ran, _ in runs]
    promised = [float(each["evidence"]["expected_gain"]) for each in findings if each is not None]
    kind = claimed_kind(check, next((each for each in findings if each is not None), None))
    whole_kind = WHOLE.get(kind, "step")
    ratios = [(ratio(old, new, kind), ratio(old, new, whole_kind)) for old, new in runs]
    claimed, whole = (statistics.median(column) for column in zip(*ratios, strict=True))
    others = {"fixed": runs[0][1], **quiet}
    loud = {name: loud_names(ran) for name, ran in others.items()}
    row = (
        home.name if broken.stem == "broken" else f"{home.name} ({broken.stem})",
        kind,
        f"{statistics.median(promised):.2f}" if promised else "-",
        f"{claimed:.2f}x",
        f"{whole:.2f}x ({1 - 1 / whole:.2f})" if whole > 0 else "-",
        f"{len(promised)}/{rounds}",
        "; ".join(f"{name}: {', '.join(names)}" for name, names in loud.items() if names) or "silent",
    )
    every = {"broken": runs[0][0], **others}
    return row, {
        "kind": kind, "promised": promised, "claimed_ratio": claimed, "step_ratio": whole,
        "found": len(promised), "rounds": rounds,
        "scripts": {name: told(ran) for name, ran in every.items()},
    }  # fmt: skip


def claimed_kind(check: str, finding: dict[str, Any] | None) -> str:
    evidence = finding["evidence"] if finding is not None else {}
    parts = [part for part in PARTS if f"{part}_s" in evidence]
    if check in CLAIMED:
        return CLAIMED[check]
    if parts:
        return parts[0]
    return "peak bytes" if any(name.endswith("_bytes") for name in evidence) else "step"


def ratio(broken: Ran, fixed: Ran, kind: str) -> float:
    before, after = broken.kinds.get(kind, 0.0), fixed.kinds.get(kind, 0.0)
    return before / after if after > 0 else 0.0


def loud_names(ran: Ran) -> list[str]:
    """Of what must be silent: findings louder than a note, or no proper end."""
    names = [each["name"] for each in ran.findings if each["severity"] != "note"]
    return names if ran.outcome == "finished" else [*names, ran.outcome]


def told(ran: Ran) -> dict[str, Any]:
    keys = ("name", "severity", "message", "fix", "evidence")
    findings = [{key: each[key] for key in keys} | {"line": each["where"]["line"]} for each in ran.findings]
    return {
        "outcome": ran.outcome,
        "steps": ran.steps,
        "kinds": ran.kinds,
        "findings": findings,
    }


if __name__ == "__main__":
    main()
