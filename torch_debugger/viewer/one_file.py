"""The report: one HTML file with the page, the answers to what it asks first, and a part that needs no script;
of one run, or of several compared.

It fetches nothing, and its own Content-Security-Policy allows nothing but the script and the styles inside it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from torch_debugger._version import __version__
from torch_debugger.archive.run import Run
from torch_debugger.viewer.bundle import page_file
from torch_debugger.viewer.first_questions import finer_curves, first_questions, further_questions
from torch_debugger.viewer.several_questions import further_questions_of, questions_of_each, shared_questions
from torch_debugger.viewer.several_shelf import SeveralShelf
from torch_debugger.viewer.single_shelf import SingleShelf
from torch_debugger.viewer.still import still_page, still_style
from torch_debugger.viewer.still.markup import Markup, element, together
from torch_debugger.viewer.still.several import still_several
from torch_debugger.viewer.written_answers import WrittenAnswers

MARK = "<!-- a report of torch-debugger -->"
_MOST_BYTES = 1_000_000
_LEAST_FOR_ANSWERS = 200_000
_MORE_BYTES, _MOST_BYTES_OF_SEVERAL = 250_000, 4_000_000  # for each run beyond the first


class OneFile(NamedTuple):
    html: str
    left_out: dict[str, int]  # question -> how many of its answers did not fit
    has_page: bool  # False where the page was not built: then it is the still part alone


def make_one_file(run: Run) -> OneFile:
    still = still_page(run)
    script, page_style = _bundled("page.js"), _bundled("page.css")
    styles = [_style(text) for text in (page_style, still_style())]
    room = _MOST_BYTES - sum(map(len, (still, script, *styles)))
    answers = WrittenAnswers(SingleShelf(run), max(room, _LEAST_FOR_ANSWERS))
    if script:
        answers.add_first(first_questions(run, answers.ask))
        answers.add_further(further_questions(run, answers.ask))
        answers.add_further(finer_curves(run))
    html = _document(run.name, still, styles, _script(script), answers.to_json())
    return OneFile(html, answers.left_out, bool(script))


def make_file_of(runs: Sequence[Run]) -> OneFile:
    """Two runs or more, each with a name of its own; the first two are compared at first sight."""
    still = still_several(runs)
    script, page_style = _bundled("page.js"), _bundled("page.css")
    styles = [_style(text) for text in (page_style, still_style())]
    most = min(_MOST_BYTES + _MORE_BYTES * (len(runs) - 1), _MOST_BYTES_OF_SEVERAL)
    room = most - sum(map(len, (still, script, *styles)))
    answers = WrittenAnswers(SeveralShelf(runs), max(room, _LEAST_FOR_ANSWERS))
    if script:
        answers.add_first(shared_questions(runs))
        answers.add_first(
            each for each in questions_of_each(runs, answers.ask) if each.key not in answers.texts
        )
        answers.add_further(further_questions_of(runs, answers.ask))
    title = f"{len(runs)} runs compared"
    html = _document(title, still, styles, _script(script), answers.to_json())
    return OneFile(html, answers.left_out, bool(script))


def _document(name: str, still: Markup, styles: list[str], script: str, answers: str) -> str:
    head = together(
        Markup('<meta charset="utf-8">\n'),
        _policy(styles, script),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        Markup('<meta name="referrer" content="no-referrer">\n'),
        Markup(f'<meta name="generator" content="torch-debugger {__version__}">\n'),
        element("title", f"{name}: torch-debugger report"),
        Markup('\n<link rel="icon" href="data:,">\n'),
        *(Markup(f"<style>{text}</style>\n") for text in styles),
    )
    page = Markup(f'<div id="page">{still}</div>\n')
    kept = Markup(f'<script type="application/json" id="answers">{answers}</script>\n')
    live = together(kept, Markup(f'<script type="module">{script}</script>\n')) if script else ""
    body = together(page, live)
    return f'<!doctype html>\n{MARK}\n<html lang="en">\n<head>\n{head}</head>\n<body>\n{body}</body>\n</html>\n'


def _policy(styles: list[str], script: str) -> Markup:
    rules = [
        "default-src 'none'",
        f"script-src {_hash(script)}" if script else "script-src 'none'",
        f"style-src {' '.join(map(_hash, styles))}",
        "img-src data:",
        "media-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return Markup(f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">\n')


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def _bundled(name: str) -> str:
    """Empty where the page was not built."""
    try:
        found = page_file(name)
    except FileNotFoundError:
        return ""
    return found.content.decode("utf-8") if found is not None else ""


def _script(text: str) -> str:
    """The same program without what would end its element; in a program that stands only in texts."""
    return text.replace("\r", "").replace("</script", "<\\/script").replace("<!--", "\\x3C!--")


def _style(text: str) -> str:
    return text.replace("\r", "").replace("</", "<\\/")
