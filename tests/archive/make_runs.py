"""Runs scripts under the debugger, each in a fork of one process that has only imported torch.

    python -m tests.archive.make_runs FOLDER

Every FOLDER/NAME.py becomes a log in FOLDER/NAME. The budget is so large that a busy machine gets the same
looks; of a script whose name begins with "deep" the first eleven steps are deep.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def make_runs(scripts: list[Path]) -> None:
    for script in scripts:
        pid = os.fork()
        if not pid:
            _be_the_script(script)
        os.waitpid(pid, 0)


def _be_the_script(script: Path) -> None:
    code = 1
    try:
        torch.set_num_threads(1)
        deep_steps = 11 if script.stem.startswith("deep ") else 3
        log_dir = str(script.with_suffix(""))
        checks = ("missing-zero-grad",)
        settings = Settings(
            log_dir=log_dir, rehearse=False, budget=10.0, deep_steps=deep_steps, only=checks, quiet=True
        )
        os.chdir(script.parent)
        _, code = run_in_process(script.name, (), settings)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    import torch
    import torch._dynamo  # which every optimizer imports when it is first made

    import torch_debugger.runner.plumbing  # noqa: F401
    from torch_debugger.checks.catalog import catalog
    from torch_debugger.runner.in_process import run_in_process
    from torch_debugger.settings import Settings

    catalog()
    make_runs(sorted(Path(sys.argv[1]).glob("*.py")))
