"""Starts Python programs in forks of a process that has torch and the debugger imported: `run` and `Popen` are
those of subprocess, and most of what a test of a command waits for, the imports, is gone.

A command that begins with sys.executable is forked, and so are those that it starts in turn (the script of
`torch-debugger run`), unless torch has started threads there; torchrun, which starts some, has a process beside
it that forks its ranks, and with `spawns_in_forks` in its environment a script has one for what it spawns.
Everything else is started as ever. Not for tests of what an interpreter does when it starts or ends, of what is
imported, or of the terminal of a process.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import itertools
import json
import multiprocessing.process
import multiprocessing.util
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
import types
import warnings
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_real = subprocess.Popen
spawns_in_forks = {"TESTS_SPAWN_IN_FORKS": "yes"}
_real_spawn = multiprocessing.util.spawnv_passfds


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:
    """As subprocess.run: input, capture_output, text, timeout, check, cwd, env and the rest."""
    before, subprocess.Popen = subprocess.Popen, Popen  # type: ignore[misc]
    try:
        return subprocess.run(command, **options)
    finally:
        subprocess.Popen = before  # type: ignore[misc]


class Forking(_real):  # type: ignore[type-arg,valid-type,misc]
    """In a process that is a fork of the preloaded one: forks again where it would start an interpreter."""

    def _execute_child(self, args: Any, *rest: Any) -> None:
        started = Start.of(args, rest)
        if started is None or _has_native_threads():
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        sys.stdout.flush()
        sys.stderr.flush()
        pid = forked()
        if pid == 0:
            started.become()
        self._started(pid, rest)

    def _started(self, pid: int, rest: Sequence[Any]) -> None:
        self.pid = pid
        self._child_created = True
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = rest[9:15]
        ours = {fd for fd in (p2cwrite, c2pread, errread) if fd != -1}
        for fd in {p2cread, c2pwrite, errwrite, getattr(self, "_devnull", -1)} - ours - {-1}:
            if fd in self._child_ends(rest):
                os.close(fd)

    def _child_ends(self, rest: Sequence[Any]) -> set[int]:
        """Pipes and /dev/null were opened for the child alone; what the caller handed over stays open here."""
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = rest[9:15]
        pairs = ((p2cread, p2cwrite), (c2pwrite, c2pread), (errwrite, errread))
        return {child for child, parent in pairs if parent != -1} | {getattr(self, "_devnull", -1)}


class Popen(Forking):
    """In any process: asks the preloaded one for a fork."""

    def _execute_child(self, args: Any, *rest: Any) -> None:
        started = Start.of(args, rest)
        if started is None:
            _real._execute_child(self, args, *rest)  # type: ignore[attr-defined]
            return
        # Each message by itself: the number and the status may both be there when the first is read.
        self._reply, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            _server().send(started.plain(), [*started.stdio, *started.kept, theirs.fileno()])
        self._started(int(self._reply.recv(32)), rest)

    def _internal_poll(self, _deadstate: Any = None, **_: Any) -> int | None:
        if self.returncode is None and self._try_wait(os.WNOHANG)[0]:
            self._handle_exitstatus(self._status)
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if not hasattr(self, "_reply"):
            return super()._try_wait(wait_flags)  # type: ignore[misc,no-any-return]
        self._reply.setblocking(wait_flags == 0)
        try:
            told = self._reply.recv(32)
        except BlockingIOError:
            return 0, 0
        self._reply.close()
        self._status = int(told or 1 << 8)  # nothing: the preloaded process is gone
        return self.pid, self._status


class Start:
    """What is to be started: an interpreter's arguments and surroundings."""

    def __init__(self, plain: dict[str, Any], stdio: list[int], kept: list[int]) -> None:
        self.words: list[str] = plain["words"]
        self.cwd: str = plain["cwd"]
        self.env: dict[str, str] = plain["env"]
        self.new_session: bool = plain["new_session"]
        self.close_fds: bool = plain["close_fds"]
        self.stdio, self.kept = stdio, kept  # the numbers of kept are the same in the child

    def plain(self) -> bytes:
        names = ("words", "cwd", "env", "new_session", "close_fds", "kept")
        return json.dumps({name: getattr(self, name) for name in names}).encode()

    @classmethod
    def of(cls, args: Any, rest: Sequence[Any]) -> Start | None:
        """None for what must be started as ever."""
        _, preexec, close_fds, pass_fds, cwd, env, _, _, shell, *ends = rest
        fds, others = ends[:6], ends[6:]
        words = [os.fsdecode(word) for word in args] if not isinstance(args, str | bytes) else []
        if shell or preexec or words[:1] != [sys.executable] or _target(words[1:]) is None:
            return None
        stdio = [fds[0] if fds[0] != -1 else 0, fds[3] if fds[3] != -1 else 1, fds[5] if fds[5] != -1 else 2]
        env = dict(os.environ) if env is None else {os.fsdecode(k): os.fsdecode(v) for k, v in env.items()}
        plain = {
            "words": words,
            "cwd": os.path.abspath(os.fsdecode(cwd)) if cwd is not None else os.getcwd(),
            "env": env,
            "new_session": bool(others[5]),
            "close_fds": bool(close_fds),
        }
        return cls(plain, stdio, list(pass_fds))

    def become(self) -> None:
        """In the fork: never returns."""
        code = 1
        try:
            self._settle()
            if self.words[1:3] == ["-m", "torch.distributed.run"]:
                _be_torchrun()
            elif spawns_in_forks.items() <= self.env.items() and not _is_spawned(self.words):
                _spawn_in_forks()
            code = _run_main(self.words)
            _finalize()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _settle(self) -> None:
        _begin_anew_at_exit()
        if self.new_session:
            os.setsid()
        held = [os.dup(fd) for fd in self.stdio]
        for number, fd in enumerate(held):
            os.dup2(fd, number)
            os.close(fd)
        for fd in {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2, *self.kept}:
            try:
                if self.close_fds or not os.get_inheritable(fd):  # which an exec would close
                    os.close(fd)
            except OSError:  # the listing's own
                continue
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):  # ours until now; what is ignored stays so
                signal.signal(number, signal.SIG_DFL)
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(self.cwd)
        multiprocessing.process.ORIGINAL_DIR = self.cwd  # type: ignore[attr-defined]  # of those that it spawns
        os.environ.clear()
        os.environ.update(self.env)
        sys.excepthook = sys.__excepthook__
        unbuffered = bool(self.env.get("PYTHONUNBUFFERED")) or "-u" in self.words[1:3]
        for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
            by_line = os.isatty(number) or name == "stderr" or unbuffered
            stream = open(number, mode, buffering=1 if by_line else -1, closefd=False)  # noqa: SIM115  for good
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def forked() -> int:
    """os.fork; its warning of other threads (Python 3.12 and later) would stand in the output of a program that
    is to be compared."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        return os.fork()


def _be_torchrun() -> None:
    from torch.distributed.elastic.multiprocessing.subprocess_handler import subprocess_handler

    _servers[:] = [ForkedServer()]
    subprocess_handler.Popen = Popen  # type: ignore[attr-defined,misc]  # it has its own name for it


def _spawn_in_forks() -> None:
    """What multiprocessing spawns here is forked from a process as this is now, and adopted by this one, which
    can wait for it then."""
    server = ForkedServer(leaving=True)
    _spawning.append(server)
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER

    def spawn(path: bytes, args: Sequence[bytes | str], kept: Sequence[int]) -> int:
        words = [os.fsdecode(word) for word in args]
        if not _is_spawned(words):
            return _real_spawn(path, args, kept)
        plain = {"words": words, "cwd": os.getcwd(), "env": dict(os.environ), "new_session": False}
        started = Start(plain | {"close_fds": True}, [0, 1, 2], list(kept))
        reply, theirs = socket.socketpair()
        with reply, theirs:
            server.send(started.plain(), [*started.stdio, *started.kept, theirs.fileno()])
            return int(reply.recv(32))

    multiprocessing.util.spawnv_passfds = spawn


def _is_spawned(words: list[str]) -> bool:
    return "--multiprocessing-fork" in words


def _has_native_threads() -> bool:
    """Such as those of torchrun's store: a fork would have their locks without them, and hang now and then."""
    return len(os.listdir("/proc/self/task")) > threading.active_count()


def _begin_anew_at_exit() -> None:
    """What was to be done at the end of the process before the fork is not for this one; what the standard
    library registers once, when it is first used, is."""
    atexit._clear()
    atexit.register(multiprocessing.util._exit_function)
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]  # temporary folders of the one that forked
    weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]


def _target(words: list[str]) -> tuple[str, list[str]] | None:
    """How the program is named (-m, -c, by its file) and what follows; None with other options than -u, -B."""
    rest = list(itertools.dropwhile(lambda word: word in ("-u", "-B"), words))
    if not rest:
        return None
    if rest[0] in ("-m", "-c"):
        return rest[0], rest[1:]
    return None if rest[0].startswith("-") else ("file", rest)


def _finalize() -> None:
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()


def _run_main(words: list[str]) -> int:
    """As the interpreter does: the exit code."""
    target = _target(words[1:])
    assert target is not None
    way, rest = target
    sys.argv = ["-c" if way == "-c" else rest[0], *rest[1:]]
    sys.orig_argv = list(words)
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    inside = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    first = os.path.dirname(os.path.abspath(rest[0])) if way == "file" else os.getcwd() if way == "-m" else ""
    sys.path[:] = [first, *inside, *(part for part in sys.path[1:] if part not in inside)]
    try:
        if way == "-m":
            runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]
        elif way == "-c":
            exec(compile(rest[0], "<string>", "exec"), main.__dict__)
        else:
            main.__dict__.update(__file__=rest[0], __cached__=None)
            exec(compile(Path(rest[0]).read_bytes(), rest[0], "exec"), main.__dict__)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        sys.excepthook(type(interrupt), interrupt, interrupt.__traceback__)
        _finalize()  # the interpreter kills itself when all else is done
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__.tb_next if error.__traceback__ else None)
        return 1
    return 0


class Server:
    """The preloaded process, seen from a test."""

    def __init__(self, *modules: str) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "tests.preloaded", str(theirs.fileno()), *modules]
            self.process = _real(command, cwd=ROOT, pass_fds=[theirs.fileno()])
        self.pid = os.getpid()

    def send(self, plain: bytes, fds: list[int]) -> None:
        head = len(plain).to_bytes(8, "little")
        socket.send_fds(self.socket, [head], fds)
        self.socket.sendall(plain)

    def end(self) -> None:
        self.socket.close()
        self.process.wait()


class ForkedServer(Server):
    """A preloaded process too: a fork of one, made before this one starts threads. Those that are `leaving` it
    are not its children: somebody else waits for them."""

    def __init__(self, leaving: bool = False) -> None:
        self.socket, theirs = socket.socketpair()
        self.pid = os.getpid()
        if forked():
            theirs.close()
            return
        try:
            self.socket.close()
            os.chdir("/")
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # meant for those beside it
                signal.signal(number, lambda *_: None)
            serve(theirs, leaving)
        finally:
            os._exit(0)


_servers: list[Server] = []
_spawning: list[Server] = []  # of the processes before this one too: their end would close a file of this one


def _server() -> Server:
    """One for this process, when it is first asked for."""
    if not _servers or _servers[0].pid != os.getpid():
        _servers[:] = [Server()]
        atexit.register(_servers[0].end)
    return _servers[0]


@contextlib.contextmanager
def with_modules(*modules: str) -> Iterator[None]:
    """Programs that are started meanwhile find these imported too: for many that draw, or write TensorBoard's
    files."""
    before, server = _servers[:], Server(*modules)
    _servers[:] = [server]
    try:
        yield
    finally:
        _servers[:] = before
        server.end()


def serve(asked: socket.socket, leaving: bool = False) -> None:
    running: dict[int, tuple[int, socket.socket]] = {}  # by a file that is ready when the process has ended
    while True:
        ready, _, _ = select.select([asked, *running], [], [])
        for ended in running.keys() & ready:
            pid, reply = running.pop(ended)
            os.close(ended)
            with reply:
                _tell(reply, os.waitpid(pid, 0)[1])
        if asked in ready:
            head, fds, _, _ = socket.recv_fds(asked, 8, 250)
            if not head:
                return
            plain = b""
            while len(plain) < int.from_bytes(head, "little"):
                plain += asked.recv(int.from_bytes(head, "little") - len(plain))
            *given, told = fds
            reply = socket.socket(fileno=told)
            ours = [asked, reply, *(other for _, other in running.values())]
            pid = (_leave if leaving else _fork_for)(json.loads(plain), given, ours)
            _tell(reply, pid)
            if leaving:
                reply.close()
            else:
                running[os.pidfd_open(pid)] = (pid, reply)


def _leave(plain: dict[str, Any], fds: list[int], ours: list[socket.socket]) -> int:
    """By a process in between, whose end makes it an orphan."""
    told, tell = socket.socketpair()
    between = forked()
    if between == 0:
        _tell(tell, _fork_for(plain, fds, [*ours, told, tell]))
        os._exit(0)
    for fd in fds:
        os.close(fd)
    os.waitpid(between, 0)
    with told, tell:
        return int(told.recv(32))


def _fork_for(plain: dict[str, Any], fds: list[int], ours: list[socket.socket]) -> int:
    pid = forked()
    if pid == 0:
        for each in ours:
            each.close()
        aside = [fcntl.fcntl(fd, fcntl.F_DUPFD, max(plain["kept"], default=0) + 1) for fd in fds]
        for fd, number in zip(aside[3:], plain["kept"], strict=True):
            os.dup2(fd, number)
        subprocess.Popen = Forking  # type: ignore[misc]
        Start(plain, aside[:3], plain["kept"]).become()
    for fd in fds:
        os.close(fd)
    return pid


def _tell(reply: socket.socket, number: int) -> None:
    try:
        reply.sendall(str(number).encode())
    except OSError:  # nobody waits for it any more
        return


if __name__ == "__main__":
    from tests.zoo.runner import preload

    preload(sys.argv[2:])
    serve(socket.socket(fileno=int(sys.argv[1])))
