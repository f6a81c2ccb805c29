"""Differences that a run under torch-debugger may show, each with its reason. What is not here is a failure."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

# Watching holds the figures of the steps in the script's process, and its parent counts too. Machines differ in
# how fast they import, which is most of what these short programs do: the seconds cover that.
MEMORY_MB, MEMORY_SHARE = 150.0, 0.25
CPU_FACTOR, CPU_SECONDS = 3.0, 10.0


@dataclass(frozen=True)
class Allowed:
    difference: re.Pattern[str]  # of "property: detail", from its beginning
    reason: str


def _allowed(difference: str, reason: str) -> Allowed:
    return Allowed(re.compile(difference), reason)


OURS = "|".join(sorted({*sys.stdlib_module_names, "__mp_main__", "torch_debugger", "psutil"}))
OURS += r"|_sysconfigdata[\w-]*"
OF_A_MODULE_CALL = (
    r"(\^+|File .* in (_wrapped_call_impl|_call_impl|inner)|return self\._(compiled_)?call_impl\(.*\).*"
    r"|return inner\(\)|(return|result =) forward_call\(\*args, \*\*kwargs\))"
)

# cProfile's list of the script's functions and how often each was called.
PROFILED = r"stdout: ([-+] \[(\('[\w<>]+', \d+\)(, )?)+\]( \| |$))+$"

ALLOWED = [
    _allowed(r"threads: \+ (torch_debugger (log|ranks)|torch-debugger (watchdog|stacks|samples)) daemon=True$",
             "The writer of the log, the hang watch and others of ours live in the script's process."),
    _allowed(r"file_numbers: \+ (/memfd|pipe|\S*/log/events\S*|/proc/\d+/task/\d+/\w+)$",
             "The log, the board that the parent reads and the pipe to it are open in the script's process, "
             "and for moments what the hang watch asks of the kernel."),
    _allowed(r"frames_below: \+ (main_module.py (_run_\w+|run_as_main)|launch.py main|child.py <module>)$",
             "Something starts the script: as under runpy, its first frame has callers. Tracebacks hide them."),
    _allowed(r"importers: \+ _Finder$", "Torch is instrumented in the moment in which the script imports it."),
    _allowed(rf"modules: \+ ({OURS})$",
             "We live in the script's process and import a part of the standard library before it does. That a "
             "file of the script's with such a name is found all the same is tried by the pieces hides_*."),
    _allowed(r"process\[leads its (group|session)\]: True -> False$",
             "The script is a child of the command in its group, as under nice, time or torchrun."),
    _allowed(r"signal_masks\[SigCgt\]: \+ 61$",
             "Signal 61 asks a process and its forks for their stacks: they no longer end by it."),
    _allowed(r"stderr: - +\[Previous line repeated 9\d\d more times\] \| \+ +\[Previous line repeated 9",
             "The frames that start the script count against the limit of recursion."),
    _allowed(r"notice: torch-debugger: The run log in \S+ ends early: .* The training goes on without it\.$",
             "The script has closed our file or limited its size: the log is lost, and one sentence says so."),
    _allowed(r"process\[limits\]\[RLIMIT_AS\]: [-+] \d+$",
             "The piece that sets this limit adds to the size that the process has; we import more than it."),
    _allowed(rf"stderr: ([-+] +{OF_A_MODULE_CALL}( \| |$))+$",
             "While we listen, torch calls a module by its other branch: a traceback through it shows the "
             "lines of that branch."),
    _allowed(r"stdout: - \{(.*?)(?:'__len__': \d+, )?(.*)\} \| \+ \{\1'__len__': \d+, \2\}$",
             "A loader's length is asked of its dataset: functions that count all calls hear that."),
    _allowed(r"temporary\[pymp(/listener)?\]: ('0o\d+' -> None|None -> '0o\d+')$",
             "Whether a loader's worker can clear up its folder before it is ended is a matter of moments."),
    _allowed(r"stderr: - .*RuntimeWarning: coroutine '\w+' was never awaited .*\+ .* '\w+' was never awaited",
             "Python warns of a forgotten coroutine in whatever line runs when it is collected."),
    _allowed(r"threads: [-+] QueueFeederThread daemon=True$",
             "What feeds the queues of a loader's workers ends soon after the loader, not with it."),
    _allowed(r"hooks\[import\]: .*own_imports.*|main_module\[original_import\]: 'builtin_function",
             "Where a file of the script's is called like a module of ours, its imports and ours are told "
             "apart by __import__."),
    _allowed(r"next_file_number: \d+ -> \d+$",
             "Our files have numbers from 200 on; where the script may not have so many, they are low ones. "
             "A process that is spawned gets the pipe to us at a low number."),
    _allowed(r"stdout: - \[(\d, )+\d\] \| \+ \[(\d, )+\d\]$",
             "We hold the parameters of an optimizer as long as it lives: sys.getrefcount counts that."),
    _allowed(r"stdout: ([-+] \['multiprocessing\.[\w', .]+\]( \| |$))+$",
             "What we have imported before the script is not imported again: an audit hook misses it."),
    _allowed(r"stdout: ([-+] \[(['\"]open \(.*)?\]( \| |$))+$", "An audit hook sees the files that we open."),
    _allowed(r"stderr: \+ Exception ignored in: .* in _shutdown .*NameError: name '__file__' is not defined",
             "Under -m and in a folder __main__ has no __file__ between its last line and the exit handlers, "
             "which a callback of sys.monitoring may meet."),
    _allowed(r"our frame in a traceback: File \S+/cli/(prompt|watch).py\", line \d+, in (restore|end)$",
             "A callback of sys.monitoring that fails when the interpreter ends fails in what runs last, and "
             "that is ours."),
    _allowed(r"stdout: - \['aten::(?!_local_scalar_dense).* \| \+ \['aten::_local_scalar_dense'.*'aten::item'",
             "The loss of each step is read: torch's profiler shows that as aten::item."),
    _allowed(r"garbage_collection\[enabled\]: True -> False$",
             "While a thread of ours looks at frames no garbage is collected: with a short switch interval "
             "the script can see such a moment."),
    _allowed(r"(stderr: \+|our frame in a traceback:) +File \S+/cli/(child|launch|main_module).py\", line \d+, "
             r"in (<module>|main|_run_\w+|run_as_main)",
             "An exception that is printed after it has gone through all frames, as by asyncio, went through "
             "those that start the script."),
    _allowed(r"stdout: - open \d+ True \| \+ open \d+ True$",
             "To explain a crash, the sources that it came through are read."),
    _allowed(r"stdout: - import \d+ True \| \+ import \d+ True$",
             "The script's own __import__ sees what we import later, as it sees what torch does."),
    _allowed(r"original_arguments: [-+] from multiprocessing.spawn|streams\[stdin\]: [-+] \d+$",
             "Numbers of the pipes to a process that was spawned: ours are passed on to it."),
    _allowed(r"stdout: ([-+] .*named_(modules|parameters).*( \| |$))+$",
             "A model is asked for its modules and parameters by its own methods: what they leave out, the "
             "script does not mean to train."),
    _allowed(r"stdout: - looks 0 \| \+ looks \d+$",
             "A tensor class of the script's is asked for its shape and size: packed ones say their own."),
    _allowed(r"stdout: ([-+] \d+ OrderedDict\(.*\)( \| |$))+$",
             "Our hook on all modules stands among torch's global hooks, which the script has printed."),
    _allowed(r"stdout: - torch/utils/data/dataloader.py \| \+ \S+loaders.py$",
             "The source of DataLoader.__iter__ is ours while we stand around it."),
    _allowed(r"left_over: - \S*python\S* train.py|left_over: \+ \S*python\S* \S*/cli/child.py",
             "A process of the script's that outlives it has the command line of the one it was forked from."),
    _allowed(r"main_module\[__warningregistry__\]: None -> 'dict'$|stderr: (\+ .*DeprecationWarning: This "
             r"process .* is multi-threaded.*|\+ +\S+ = os.fork\(\)|\+ +if os.fork\(\).*| \| )+$",
             "From Python 3.12 on, a fork warns where the process has several threads: ours count."),
    _allowed(r"witness: (child |spawned )(start|exit) #\d+: False -> True$",
             "A process that the script leaves behind is ended with it or soon after: how far it comes depends "
             "on how long the script takes to end, and explaining a crash takes some tenths of a second."),
    _allowed(r"probe removed: (stacks|own batches): RuntimeError: can't start new thread$",
             "Where no thread can be had no stacks are sampled, no batch is timed, and the report says so."),
]  # fmt: skip
if sys.version_info >= (3, 12):
    ALLOWED.append(_allowed(PROFILED, "From Python 3.12 on, cProfile hears all threads as if they were one."))


def allowance(difference: str) -> Allowed | None:
    return next((entry for entry in ALLOWED if entry.difference.match(difference)), None)
