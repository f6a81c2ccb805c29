"""TD712: printing, plotting or logging in every step takes a large part of the training's time."""

from __future__ import annotations

import re

from torch_debugger.checks.line_cost import Advice, LineCost, rarely
from torch_debugger.checks.state import RunState
from torch_debugger.checks.step_lines import DearLine, StepSample, every

_WRITES = re.compile(r"\bprint\(|\.write\(|\.writelines\(|\.writerow\(|\.flush\(|\bjson\.dump\(|\.to_csv\(")
_LOGGERS = re.compile(
    r"(torch[/\\]utils[/\\])?(tensorboard|tensorboardX|wandb|mlflow|comet_ml|clearml|aim|trackio|neptune|matplotlib|plotly|seaborn|"
    r"loguru|logging)[/\\]"
)
# Where packages begin in a path: a folder of the user's may have any name.
_INSTALLED = re.compile(r"^.*[/\\](?:site-packages|dist-packages|python\d+\.\d+)[/\\]")
# What a line calls to make the text that it writes.
_TEXTS = re.compile(r"[/\\](torch[/\\]_tensor(_str)?\.py$|json[/\\]|pprint\.py$|csv\.py$|arrayprint\.py$)")
# Numbers that are computed to be kept: history.append((p.grad.norm().item(), p.std().item())).
_KEPT = re.compile(r"\.(append|extend|update)\(|\]\s*=(?!=)")
_AS_NUMBERS = re.compile(r"\.(item|tolist)\(")
_OPS = re.compile(r"[/\\]torch[/\\](_tensor|functional)\.py$")


class LoggingTooOften(LineCost):
    """A line that prints, plots, logs or keeps numbers runs in every step and takes a large part of the time.

    Symptom:
        The training is slower than the model explains; between the update and the next batch much time goes by.
        With fewer log lines it is faster.
    Evidence:
        The share of sampled stacks in lines that print, write a file, call a logger or plotter or append
        numbers (`.item()`, `.tolist()`) to a list, and the source around them: the loop that makes the steps,
        and no condition in between.
    Fix:
        Do it every 50 steps: `if step % 50 == 0:`. A curve has enough points by that.
    Known limits:
        What is computed in the line for the sake of the log is counted with it. A line under any condition, or
        in a loop of its own for each epoch, is taken for rare enough.
    """

    id = "TD712"
    name = "logging-too-often"
    title = "printing or logging in every step takes much of the time"
    explains = ("steps-get-slower",)  # plots of everything so far

    steps_between = 50
    saved = 1 - 1 / steps_between

    def fits(self, sample: StepSample) -> bool:
        if _LOGGERS.match(_INSTALLED.sub("", sample.called_file)):
            return True
        if not sample.called_file or _OPS.search(sample.called_file):
            code = sample.place.code or ""
            if _KEPT.search(code) and _AS_NUMBERS.search(code):
                return True
        writes = _WRITES.search(sample.place.code or "") is not None
        return writes and (not sample.called_file or _TEXTS.search(sample.called_file) is not None)

    def advise(self, line: DearLine, state: RunState) -> Advice:
        edit = every(line, self.steps_between)
        return Advice(
            what="Logging in every step",
            why="The model waits while the line runs, and a curve needs no point for every step.",
            fix=f"{rarely(edit, self.steps_between)}.",
            edit=edit,
        )
