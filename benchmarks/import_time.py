"""What `import torch_debugger` adds to the start of an interpreter: python benchmarks/import_time.py

Interleaved pairs of fresh interpreters, medians. The goal is below 50 ms.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

PAIRS = 25


def seconds(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def main() -> None:
    pairs = [(seconds("pass"), seconds("import torch_debugger")) for _ in range(PAIRS)]
    bare_ms, ours_ms = (1000 * statistics.median(side) for side in zip(*pairs, strict=True))
    print(f"interpreter {bare_ms:.1f} ms, with torch_debugger {ours_ms:.1f} ms, added {ours_ms - bare_ms:.1f} ms")


if __name__ == "__main__":
    main()
