"""How soon a hang is told with the limits that users have: the hang zoo without its short `--hang-timeout`.

    python -m benchmarks.hangs [--at-once 2] [NAME ...]

Every broken script of the zoo that hangs (or those whose home is named) runs by the real command with
`--on-hang abort`. Printed: how long it had stood still when it was told, the seconds from the command to its
end, imports and steps before the hang included, and whether the check and the line were right.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.numerics import show
from tests.zoo.launching import command_of, run_to_its_end
from tests.zoo.scripts import broken_scripts, name_of, options
from tests.zoo.test_zoo import assert_verdict

GOAL_S = 60.0
LIMIT_S = 300.0


Row = tuple[str, str, str, str]
HEADING: Row = ("script", "told after", "whole run", "right")


def hanging(names: Sequence[str]) -> list[Path]:
    scripts = [script for script in broken_scripts() if "hang_timeout" in " ".join(options(script))]
    return [script for script in scripts if not names or script.parent.name in names]


def with_defaults(command: list[str]) -> list[str]:
    at = command.index("--hang-timeout")
    return command[:at] + command[at + 2 :]


def run(script: Path) -> Row:
    began = time.monotonic()
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as folder:
        try:
            run_to_its_end(with_defaults(command_of(script)), LIMIT_S, cwd=folder, env=environment, **quiet)
        except subprocess.TimeoutExpired:
            return name_of(script), "-", f"{LIMIT_S:.0f} s, then ended", "no"
        result = json.loads((Path(folder) / "out.json").read_text())
    found = result["findings"]
    told = found[0]["evidence"].get("stood still", "-") if found else "-"
    return name_of(script), str(told), f"{time.monotonic() - began:.0f} s", _right(script, result)


def _right(script: Path, result: dict[str, Any]) -> str:
    try:
        assert_verdict(script, result)
    except AssertionError as error:
        return f"no: {str(error).splitlines()[0]}"
    return "yes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    with ThreadPoolExecutor(asked.at_once) as pool:
        rows = list(pool.map(run, hanging(asked.names)))
    show([HEADING, *rows])
    right = [row for row in rows if row[3] == "yes"]
    print(f"{len(right)} of {len(rows)} told with the right check and line; the goal is {GOAL_S:.0f} s.")


if __name__ == "__main__":
    main()
