"""Runs every script of this folder's `scripts` on a machine with a GPU, each through the real command.

    python -m tests.gpu.run_all OUT_FOLDER [NAME ...]

What was printed goes into OUT_FOLDER/printed.txt and the results into OUT_FOLDER/results.json; both
together are the golden files in tests/gpu/golden.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.zoo.scripts import gpu_scripts

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCRIPTS = HERE / "scripts"
LIMIT_S = 120
AT_ONCE = 6
# These fill the device, each on its own.
ALONE = ("batch_too_large", "losses_kept", "outputs_kept", "library_without_room", "cuda-kernel-error/broken")


def all_scripts() -> list[Path]:
    return [*sorted(SCRIPTS.glob("*.py")), *gpu_scripts()]


def name_of(script: Path) -> str:
    """cuda_in_worker, or device-side-assert/broken for those of the zoo"""
    return script.stem if script.parent == SCRIPTS else f"{script.parent.name}/{script.stem}"


def main(out: Path, names: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    scripts = [script for script in all_scripts() if not names or name_of(script) in names]
    done: dict[str, tuple[str, dict[str, Any]]] = {}
    together = [script for script in scripts if name_of(script) not in ALONE]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for script, found in zip(together, pool.map(run, together), strict=True):
            done[name_of(script)] = found
    write(out, done)
    for script in scripts:
        if name_of(script) in ALONE:
            done[name_of(script)] = run(script)
            write(out, done)


def write(out: Path, done: dict[str, tuple[str, dict[str, Any]]]) -> None:
    printed = [f"=== {name}\n{done[name][0].strip()}\n" for name in sorted(done)]
    (out / "printed.txt").write_text("\n".join(printed))
    results = {name: done[name][1] for name in sorted(done)}
    (out / "results.json").write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def run(script: Path) -> tuple[str, dict[str, Any]]:
    """What the command printed, and the part of its result that is the same every time."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [
            sys.executable,
            "-m",
            "torch_debugger",
            "run",
            "--no-log",
            "--json",
            str(result),
            str(script),
        ]
        environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return "no end\n", {"outcome": "no end"}
        text = cleaned(f"{done.stdout}{done.stderr}", folder)
        return text, told(json.loads(result.read_text())) if result.exists() else {"outcome": "no result"}


def cleaned(text: str, folder: str) -> str:
    """Without the paths of the machine."""
    for path in (f"{SCRIPTS}{os.sep}", f"{ROOT}{os.sep}", folder):
        text = text.replace(path, "")
    return re.sub(r'"/[^"]*/(?=[^/"]+\.py")', '"', text)


def told(result: dict[str, Any]) -> dict[str, Any]:
    findings = [
        {
            "name": finding["name"],
            "line": finding["where"]["line"],
            "message": finding["message"],
            "why": finding["why"],
            "fix": finding["fix"],
            "confidence": finding["confidence"],
        }
        for finding in result["findings"]
    ]
    verdict = result["verdict"]
    return {
        "outcome": result["outcome"],
        "findings": findings,
        "verdict": findings[verdict]["name"] if verdict is not None else None,
        "probes_removed": result["cost"]["probes_removed"],
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
