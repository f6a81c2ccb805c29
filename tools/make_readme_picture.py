"""Writes what the README shows of two real runs: docs/report.svg, and one finding as text.

python tools/make_readme_picture.py
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from torch_debugger.checks.judge import Judge
from torch_debugger.log.reader_records import read_log
from torch_debugger.report.result import RunDigest, RunResult
from torch_debugger.report.terminal import render_terminal

REPOSITORY = Path(__file__).parent.parent
ZOO = REPOSITORY / "zoo"
PICTURE = REPOSITORY / "docs" / "report.svg"
README = REPOSITORY / "README.md"
COLUMNS = 88


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        printed, result = watch(ZOO / "setup" / "missing-zero-grad" / "broken.py", Path(folder))
        PICTURE.write_text(draw(printed, result), encoding="utf-8")
        _, result = watch(ZOO / "crashes" / "shape-mismatch" / "broken.py", Path(folder))
        README.write_text(with_finding(README.read_text(encoding="utf-8"), as_text(result)), encoding="utf-8")
    print("docs/report.svg and the finding in README.md are as the tool prints them today")


def watch(script: Path, folder: Path) -> tuple[str, RunResult]:
    """What the script printed, and the result of the run."""
    shutil.copy(script, folder / "train.py")
    shutil.rmtree(folder / "runs", ignore_errors=True)
    command = [sys.executable, "-m", "torch_debugger", "run", "--log-dir", "runs/train", "train.py"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    judge, digest = Judge(), RunDigest()
    for record in read_log(folder / "runs" / "train"):
        judge.see(record)
        digest.see(record)
    judge.finish()
    return finished.stdout, digest.result(judge.findings, exit_code=finished.returncode, log="runs/train")


def draw(printed: str, result: RunResult) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text("$ torch-debugger run train.py", style="bold"))
    lines = printed.strip().split("\n")
    console.print(Text("\n".join([*lines[:2], "...", lines[-1], ""]), style="dim"))
    render_terminal(result, console)
    return console.export_svg(title="torch-debugger", code_format=without_web_fonts(), unique_id="report")


def without_web_fonts() -> str:
    """Rich's picture format, with the reader's own monospace font: nothing is fetched."""
    bare = re.sub(r"@font-face {{.*?}}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return bare.replace("Fira Code, monospace", "DejaVu Sans Mono, Menlo, Consolas, monospace")


def as_text(result: RunResult) -> str:
    stream = io.StringIO()
    render_terminal(result, Console(file=stream, width=COLUMNS))
    return stream.getvalue()


def with_finding(readme: str, text: str) -> str:
    block = f"<!-- finding -->\n```text\n{text}```\n<!-- end -->"
    return re.sub(r"<!-- finding -->.*?<!-- end -->", lambda _: block, readme, flags=re.DOTALL)


if __name__ == "__main__":
    main()
