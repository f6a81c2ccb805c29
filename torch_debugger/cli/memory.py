"""torch-debugger memory FILE: a memory snapshot as tables, PyTorch's own pickles included."""

from __future__ import annotations

import argparse
import json
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="what torch.cuda.memory._dump_snapshot() wrote, or save() of torch_debugger.memory.snapshot(); "
        "nothing in it is run",
    )
    parser.add_argument("--since", metavar="FILE", help="show what grew since this earlier snapshot")
    parser.add_argument("--json", action="store_true", help="the same for programs")


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.memory.snapshots import load

    snapshot = load(arguments.file)
    shown = snapshot - load(arguments.since) if arguments.since else snapshot.stats()
    text = json.dumps(shown.to_dict(), indent=1) if arguments.json else str(shown)
    sys.stdout.write(f"{text}\n")
    return 0
