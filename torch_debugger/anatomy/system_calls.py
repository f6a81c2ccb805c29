"""System calls that a process gives up for good. Audit hooks hear of what Python does, but not of what a
library in C does: torch.save opens its file itself, and so does sqlite."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
from collections.abc import Iterator

_SET_SECCOMP, _NO_NEW_PRIVILEGES, _FILTER_MODE = 22, 38, 2
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # of the kernel's packet filter language
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_THREAD = 0x10000  # CLONE_THREAD: not a process

# audit name of the machine, and its numbers (asm/unistd.h): files, sockets, signals, processes, memory and
# queues shared by processes, timers (the rehearsal's own time limit is one).
_X86 = (
    0xC000003E,
    (
        *(85, 87, 263, 82, 264, 316, 83, 258, 84, 86, 265, 88, 266, 76, 77, 285, 90, 91, 268, 452, 92, 93, 94),
        *(260, 133, 259, 132, 235, 280, 261, 188, 189, 190, 197, 198, 199, 165, 166),
        *(41, 53, 42, 49, 50, 43, 288, 44, 46, 307),
        *(62, 200, 234, 129, 297, 434, 424, 57, 58, 59, 322, 101, 311),
        *(29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241, 242, 243, 425, 38, 37),
    ),
)
_ARM = (
    0xC00000B7,
    (
        *(35, 38, 276, 34, 37, 36, 45, 46, 47, 52, 53, 452, 54, 55, 33, 88, 5, 6, 7, 14, 15, 16, 40, 39),
        *(198, 199, 200, 201, 202, 203, 206, 211, 242, 269),
        *(129, 130, 131, 138, 240, 434, 424, 221, 281, 117, 271),
        *(186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 180, 181, 182, 183, 425, 103),
    ),
)
_MACHINES = {"x86_64": _X86, "aarch64": _ARM}
_OPEN = {"x86_64": ((2, 1), (257, 2)), "aarch64": ((56, 2),)}  # the call, and which argument has its flags
_CLONE = {"x86_64": 56, "aarch64": 220}
_SIGNAL_ACTION = {"x86_64": 13, "aarch64": 134}
_UNREADABLE = (437, 435)  # openat2 and clone3 pass their flags in memory; libraries go back to the older ones

_Step = tuple[int, int, int, int]  # code, how far to jump if so, if not, operand


def can_be_refused() -> bool:
    return sys.platform == "linux" and platform.machine() in _MACHINES and sys.maxsize > 2**32


def refuse_what_reaches_outside() -> None:
    """Reading files, memory and threads of its own are left to this process, whatever calls for more."""
    steps = b"".join(struct.pack("HBBI", *step) for step in _steps(platform.machine()))
    code = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("HxxxxxxQ", len(steps) // 8, ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    rest = (ctypes.c_ulong(0),) * 3
    if prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), *rest) or prctl(
        _SET_SECCOMP, ctypes.c_ulong(_FILTER_MODE), ctypes.c_char_p(program), *rest[:2]
    ):
        raise OSError(ctypes.get_errno(), "this system lets no process give up system calls")


def _steps(machine: str) -> Iterator[_Step]:
    audited, refused = _MACHINES[machine]
    yield _LOAD, 0, 0, _MACHINE_AT
    yield _EQUAL, 1, 0, audited
    yield _RETURN, 0, 0, _REFUSE | errno.EPERM
    yield _LOAD, 0, 0, _NUMBER_AT
    for number in refused:
        yield from _if_call(number, [(_RETURN, 0, 0, _REFUSE | errno.EPERM)])
    for number in _UNREADABLE:
        yield from _if_call(number, [(_RETURN, 0, 0, _REFUSE | errno.ENOSYS)])
    for number, argument in _OPEN[machine]:
        yield from _if_call(number, _unless(argument, (_ANY_BIT, 0, 1, WRITING)))
    yield from _if_call(_CLONE[machine], _unless(0, (_ANY_BIT, 1, 0, _THREAD)))
    yield from _if_call(_SIGNAL_ACTION[machine], _unless(0, (_EQUAL, 0, 1, signal.SIGALRM)))
    yield _RETURN, 0, 0, _ALLOW


def _if_call(number: int, steps: list[_Step]) -> list[_Step]:
    return [(_EQUAL, 0, len(steps), number), *steps]


def _unless(argument: int, test: _Step) -> list[_Step]:
    """Refused where the test of this argument goes on to the next step."""
    load = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument)
    return [load, test, (_RETURN, 0, 0, _REFUSE | errno.EPERM), (_RETURN, 0, 0, _ALLOW)]
