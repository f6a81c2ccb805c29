"""Logging, saving and cleaning up in every step."""

from __future__ import annotations

import re

from torch_debugger.checks.base import RunState
from torch_debugger.checks.step_time import Advice, DearLine, LineCostCheck, StepSample, every, rarely, without

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


class LoggingTooOften(LineCostCheck):
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


_SAVES = re.compile(r"(^|\.)(save|save_pretrained|save_file|save_model|save_state|save_checkpoint|savez)$")
_SAVERS = re.compile(r"[/\\](torch|safetensors|transformers|accelerate|lightning|pytorch_lightning|numpy|joblib)[/\\]")
_WRITTEN = re.compile(r"\b(pickle|joblib)\.dump\(|\.save_pretrained\(|\bsave_file\(")


class CheckpointEachStep(LineCostCheck):
    """A checkpoint is written in every step and takes a large part of the time.

    Symptom:
        The training is slow, and the disk is busy all the time; the files are overwritten or fill it up.
    Evidence:
        The share of sampled stacks in a line that saves (`torch.save`, `save_pretrained`, `save_file`), and the
        source around it: the loop that makes the steps, and no condition in between.
    Fix:
        Save every 500 steps, or once an epoch: move the line behind the loop over the batches.
    Known limits:
        A line under any condition is taken for rare enough, and so is one that runs once an epoch, however
        short the epochs are.
    """

    id = "TD713"
    name = "checkpoint-each-step"
    title = "the model is saved in every step"

    steps_between = 500
    saved = 1 - 1 / steps_between

    def fits(self, sample: StepSample) -> bool:
        if _SAVES.search(sample.called) and _SAVERS.search(sample.called_file):
            return True
        return _WRITTEN.search(sample.place.code or "") is not None

    def advise(self, line: DearLine, state: RunState) -> Advice:
        edit = every(line, self.steps_between)
        return Advice(
            what="Saving in every step",
            why="The training waits until the whole file is written. What a crash may cost are the steps since "
            "the last file, and some hundred of them are soon made again.",
            fix=f"{rarely(edit, self.steps_between)}, or move it behind the loop, to the end of the epoch.",
            edit=edit,
        )


_CLEANS = re.compile(r"\bgc\.collect\(|^collect\(|\bempty_cache\(|\bmalloc_trim\(")


class MemoryCleanedEachStep(LineCostCheck):
    """`gc.collect()` or `torch.cuda.empty_cache()` runs in every step and takes a large part of the time.

    Symptom:
        Every step takes longer by the same time, whatever the model; the GPU is idle in between.
    Evidence:
        The share of sampled stacks in such a line, and the source around it: the loop that makes the steps, and
        no condition in between.
    Fix:
        Delete the line. Tensors are freed the moment the last variable lets go of them, without the collector,
        and the cache is there so that the next step finds memory without asking the driver.
    Known limits:
        A script that makes reference cycles around large tensors needs a collection now and then; then run it
        once an epoch. While Python collects, no sample can be taken: the share is rather too low.
    """

    id = "TD714"
    name = "memory-cleaned-each-step"
    title = "memory is cleaned by hand in every step"

    def fits(self, sample: StepSample) -> bool:
        return _CLEANS.search(sample.place.code or "") is not None

    def advise(self, line: DearLine, state: RunState) -> Advice:
        edit = without(line)
        collects = "collect(" in (line.place.code or "")
        why = (
            "gc.collect() goes through all objects of the process, hundreds of thousands with torch imported, "
            "and finds only cycles: tensors are freed without it, when the last variable lets go of them."
            if collects
            else "It gives the cached memory back to the driver and waits for the device; the next step has to "
            "ask for the same memory again."
        )
        return Advice(
            what="Cleaning memory in every step",
            why=why,
            fix=("Delete the line" if edit else "Leave the call out") + ", or run it once an epoch.",
            edit=edit,
        )
