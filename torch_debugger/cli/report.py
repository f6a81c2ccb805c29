"""torch-debugger report RUN ...: a whole run as one HTML file, or several compared, to keep or to mail."""

from __future__ import annotations

import argparse
import sys

from torch_debugger.report.text import one_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "run",
        metavar="RUN",
        nargs="*",
        help="a run: the folder of its log, its name under ./runs, or its result.json (the one written last); "
        "several, or a folder of runs, are compared in one file",
    )
    add(
        "-o",
        "--output",
        metavar="FILE",
        help="where to write it (NAME.html in the working folder; runs.html for several)",
    )
    add("--force", action="store_true", help="write over FILE even if it is no report of torch-debugger")


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.api import write_report

    written = write_report(arguments.run or None, arguments.output, replace=arguments.force)
    said = [f"{one_line(written.path)}: {written.size_bytes / 1000:,.0f} kB"]
    if not written.has_page:
        said.append(_NOT_BUILT)
    if written.left_out:
        names = ", ".join(f"{count:,} of {name}" for name, count in written.left_out.items())
        said.append(f"Too large for one file, and left out: {names}. `torch-debugger view` shows them.")
    sys.stdout.write("\n".join(said) + "\n")
    return 0


_NOT_BUILT = (
    "The page was not built, so the file holds only what needs no JavaScript. "
    "Build it with `npm ci && npm run build` in web/."
)
