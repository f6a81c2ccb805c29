"""Runs programs of this folder, and says what each does not yield: python -m tests.seeds [tools/profiled.py]"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from tests import preloaded
from tests.seeds.expected import DOCUMENTS, read_document
from tests.seeds.running import ALSO_IMPORTED, SURROUNDINGS, problems


def main(names: list[str]) -> int:
    os.environ.update(SURROUNDINGS)
    with preloaded.with_modules(*ALSO_IMPORTED):
        return run_all(names)


def run_all(names: list[str]) -> int:
    failed = 0
    for block in (block for document in DOCUMENTS for block in read_document(document)):
        full = f"{block.document}/{block.name}"
        if not block.is_runnable or (names and not any(full.startswith(name) for name in names)):
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            said = problems(block, Path(folder))
        failed += bool(said)
        print(f"{'FAILED' if said else 'good':6} {time.monotonic() - began:5.1f} s  {full}", flush=True)
        for problem in said:
            print(f"         {problem}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
