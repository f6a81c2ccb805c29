"""`torch-debugger import-runs`: runs of W&B and MLflow as logs of ours, to list and compare with others."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", help="a wandb folder, an mlflow.db or an mlruns folder")
    parser.add_argument("--into", metavar="FOLDER", default="runs", help="where the logs go (default: runs)")


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.integrations.import_runs import adopt, find_foreign_runs
    from torch_debugger.integrations.imported_run import reason_of
    from torch_debugger.system.program import say

    code = 2
    for foreign in find_foreign_runs(Path(arguments.source), say):
        try:
            folder = adopt(foreign, Path(arguments.into), say)
        except OSError as error:
            say(f"The run {foreign.name} is left out: {reason_of(error)}.")
            continue
        sys.stdout.write(f"{folder}  {len(foreign.points):,} rows, {len(foreign.hparams):,} hyperparameters\n")
        code = 0
    return code
