"""What a spawned process left behind: its traceback as text, its signal, its exit code."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException

from tests.checks.crashes.scripts import judge
from torch_debugger.crashes.capture import capture_crash
from torch_debugger.crashes.processes import read_traceback
from torch_debugger.records import Finding

TORCH = str(Path(torch.__file__).parent)
HEAD = "\n\n-- Process 1 terminated with the following error:\nTraceback (most recent call last):\n"
WRAP = f'  File "{TORCH}/multiprocessing/spawn.py", line 90, in _wrap\n    fn(i, *args)\n'
OWN = f'  File "{__file__}", line 5, in work\n    from pathlib import Path\n\n'
PARALLEL = f'  File "{TORCH}/nn/parallel/distributed.py", line 1, in __init__\n    _verify()\n'
GLOO = f'  File "{TORCH}/distributed/distributed_c10d.py", line 9, in all_reduce\n'


def told(error: BaseException) -> Finding:
    try:
        raise error
    except BaseException as raised:
        (finding,) = judge(capture_crash(raised, 0))
    return finding


def raised(text: str) -> Finding:
    return told(ProcessRaisedException(HEAD + text, 1, 4711))


def test_the_frames_the_kind_and_the_message() -> None:
    kind, message, frames = read_traceback(f"{HEAD}{WRAP}{OWN}torch.cuda.OutOfMemoryError: no memory\nat all\n")
    assert (kind, message) == ("torch.cuda.OutOfMemoryError", "no memory\nat all")
    assert [(frame.function, frame.line, frame.user) for frame in frames] == [
        ("_wrap", 90, False),
        ("work", 5, True),
    ]


def test_of_a_chain_the_last_traceback_counts() -> None:
    chain = f"{WRAP}ValueError: first\n\nDuring handling of the above exception, another exception occurred:\n\n"
    kind, message, frames = read_traceback(f"{HEAD}{chain}{HEAD}{OWN}KeyError: 'label'\n")
    assert (kind, message, len(frames)) == ("KeyError", "'label'", 1)


def test_a_text_without_a_traceback_tells_nothing() -> None:
    assert read_traceback("process 0 terminated with exit code 1") == ("", "", ())


def test_a_message_of_nothing() -> None:
    assert read_traceback(f"{HEAD}{OWN}AssertionError\n")[:2] == ("AssertionError", "")


def test_the_line_and_the_error_of_the_child() -> None:
    finding = raised(f"{WRAP}{OWN}KeyError: 'label'\n")
    assert finding.name == "spawned-process-failed"
    assert (
        finding.message
        == "Process 1 stopped at test_child_tracebacks.py:5, `from pathlib import Path`, with KeyError: 'label'"
    )
    assert (finding.where.line, finding.confidence) == (5, 0.85)


def test_a_signal() -> None:
    error = ProcessExitedException(
        "process 2 terminated with signal SIGKILL", 2, 4711, exit_code=-9, signal_name="SIGKILL"
    )
    finding = told(error)
    assert finding.name == "spawned-process-failed"
    assert "Process 2" in finding.message
    assert "SIGKILL" in finding.message
    assert "memory" in finding.why


def test_an_exit_code() -> None:
    error = ProcessExitedException("process 0 terminated with exit code 3", 0, 4711, exit_code=3)
    assert "ended with exit code 3" in told(error).message


def test_models_that_differ() -> None:
    finding = raised(
        f"{WRAP}{OWN}{PARALLEL}RuntimeError: DDP expects same model across all ranks, but Rank 0 has 1 params, "
        "while rank 1 has inconsistent 2 params.\n"
    )
    assert finding.name == "ranks-disagree"
    assert "Rank 0 built a model with 1 parameters and rank 1 one with 2" in finding.message


def test_a_peer_that_is_gone_is_no_more_than_that() -> None:
    finding = raised(f"{WRAP}{OWN}{GLOO}RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:26345.\n")
    assert (finding.name, finding.confidence) == ("ranks-disagree", 0.6)
    assert "not known here" in finding.why


def test_a_port_in_use_in_the_child() -> None:
    text = "The server socket has failed to listen. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE"
    finding = raised(f"{WRAP}{OWN}{GLOO}torch.distributed.DistNetworkError: {text}\n")
    assert (finding.name, finding.confidence) == ("process-group-setup", 0.85)
    assert "29500" in finding.message


def test_the_child_s_own_word_about_a_port_is_only_its_error() -> None:
    finding = raised(f"{WRAP}{OWN}RuntimeError: port: 29500, name: EADDRINUSE\n")
    assert finding.name == "spawned-process-failed"
