"""A script whose remaining lines are rehearsed in a fork, on a machine without the accelerator that it names:
what they do happens once, as under plain Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.promises.running import DEBUGGER, PLAIN, run
from torch_debugger.model.forks import can_be_refused

pytestmark = pytest.mark.skipif(not can_be_refused(), reason="scripts are rehearsed where a fork can be sealed")

TRAINING = """
import glob, multiprocessing, os, sys, time
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
own, was_rehearsed = os.getpid(), False
{before}

def wait_for_rehearsals():
    '''Until no child works but those of the script: what they do wrong shows from here on.'''
    others = {each.pid for each in multiprocessing.active_children()}
    while os.getpid() == own:
        listed = "".join(open(path).read() for path in glob.glob("/proc/self/task/*/children"))
        children = set(map(int, listed.split()))
        states = [open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] for pid in children - others]
        if set(states) <= {"Z"}:
            return
        time.sleep(0.02)

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(10, 1).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(3):
    x = torch.randn(16, 10).to(device)
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    if step == 0:
        wait_for_rehearsals()
        {look}
    optimizer.step()
{after}
print(torch.rand(2).tolist(), [parameter.sum().item() for parameter in net.parameters()])
"""

# What stands before the training, what is looked at when the rehearsal is over, and what follows the training.
CASES: dict[str, tuple[str, str, str]] = {
    "writes a file": (
        "open('kept.txt', 'w').write('old')",
        "print(open('kept.txt').read(), sorted(os.listdir('.')))",
        "open('kept.txt', 'w').write('new'); os.makedirs('made'); os.rename('kept.txt', 'made/kept.txt')",
    ),
    "saves over a checkpoint": (
        "torch.save({'old': 1}, 'model.pt')",
        "print(torch.load('model.pt'), sorted(os.listdir('.')))",
        "torch.save({'new': 2}, 'model.pt'); torch._C.PyTorchFileWriter('model.pt')",
    ),
    "prints": ("", "pass", "print('once'); os.write(1, b'raw'); os.system('echo from a shell')"),
    "asks": ("", "pass", "try:\n    input('name? ')\nexcept EOFError:\n    print('nobody')"),
    "leaves": ("import atexit; atexit.register(print, 'at exit')", "pass", "sys.exit(7)"),
    "leaves at once": ("", "pass", "print('bye', flush=True); os._exit(8)"),
    "connects": (
        "import socket; here, there = socket.socketpair()",
        "import select; print(len(select.select([there], [], [], 0)[0]))",
        "here.send(b'hello'); print(there.recv(9)); socket.create_server(('127.0.0.1', 0)).close()",
    ),
    "a database under way": (
        "import sqlite3; base = sqlite3.connect('runs.db'); base.execute('create table runs (loss)')\n"
        "base.commit(); base.execute('insert into runs values (1)')",
        "print(sorted(os.listdir('.')))",
        "base.execute('insert into runs values (2)'); base.commit()\n"
        "print(base.execute('select * from runs').fetchall())",
    ),
    "starts processes": (
        "import subprocess",
        "print(sorted(os.listdir('.')))",
        "subprocess.run(['touch', 'touched'])\n"
        "pid = os.fork()\nif pid == 0:\n    os._exit(0)\nos.waitpid(pid, 0)",
    ),
    "a lock, a queue and memory of several processes": (
        "lock, queue, total = multiprocessing.Lock(), multiprocessing.Queue(2), multiprocessing.Value('i', 0)",
        "print(lock.acquire(block=False), queue.empty(), total.value); lock.release()",
        "lock.acquire(); total.value += 1; queue.put(1); queue.put(2)\n"
        "print(queue.get(), queue.get(), total.value)",
    ),
    "a mapped file": (
        "import numpy; mapped = numpy.memmap('losses.bin', 'float32', 'w+', shape=(4,))",
        "print(mapped.tolist())",
        "mapped[1] = 2.0; mapped.flush()",
    ),
    "shared tensors": (
        "seen = torch.zeros(3).share_memory_()",
        "print(seen.tolist())",
        "seen += 1; seen[0] = loss.item(); print(seen.tolist())",
    ),
    "workers that stay": (
        "data = torch.utils.data.TensorDataset(torch.arange(8.0))\n"
        "loader = torch.utils.data.DataLoader(data, 4, num_workers=1, persistent_workers=True)\n"
        "print([batch[0].tolist() for batch in loader])",
        "print(len(multiprocessing.active_children()), [batch[0].tolist() for batch in loader])",
        "print([batch[0].tolist() for batch in loader]); loader._iterator = None",
    ),
    "threads": (
        "import threading",
        "pass",
        "thread = threading.Thread(target=print, args=('in a thread',)); thread.start(); thread.join()",
    ),
    "signals": (
        "import signal; signal.signal(signal.SIGUSR1, lambda *_: print('signal'))",
        "pass",
        "os.kill(own, signal.SIGUSR1); signal.alarm(0); signal.signal(signal.SIGALRM, signal.SIG_IGN)",
    ),
    "a logger with a file": (
        "import logging; logging.basicConfig(filename='run.log', level='INFO'); logging.info('begun')",
        "print(open('run.log').read())",
        "logging.info('ended %s', loss.item())",
    ),
    "cuda names": ("", "pass", "torch.cuda.empty_cache(); print(torch.cuda.device_count(), device)"),
}  # fmt: skip


def test_what_is_rehearsed_happens_once(tmp_path: Path) -> None:
    wrong: dict[str, object] = {}
    for name, (before, look, after) in CASES.items():
        text = TRAINING.replace("{before}", before).replace("{look}", look).replace("{after}", after)
        runs = []
        for how in (PLAIN, (*DEBUGGER, "--quiet", "--no-log")):
            folder = tmp_path / name.replace(" ", "-") / ("plain" if how is PLAIN else "watched")
            folder.mkdir(parents=True)
            folder.joinpath("train.py").write_text(text)
            ran = run([*how, "train.py"], folder)
            files = {each.name: each.stat().st_size for each in folder.rglob("*") if each.is_file()}
            runs.append((ran.code, ran.stdout.decode(), ran.stderr, files))
        if runs[0] != runs[1] or "Traceback" in runs[0][2]:
            wrong[name] = runs
    assert not wrong, wrong


DOES_NOT_END = """
import signal
try:
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0)
except OSError:
    pass
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
while os.getpid() != own:
    pass
listed = "".join(open(path).read() for path in glob.glob("/proc/self/task/*/children"))
print(listed)
"""


def test_a_rehearsal_without_an_end_ends_with_the_script(tmp_path: Path) -> None:
    text = TRAINING.replace("{before}", "").replace("{look}", "pass").replace("{after}", DOES_NOT_END)
    tmp_path.joinpath("train.py").write_text(text.replace("        wait_for_rehearsals()\n", ""))
    ran = run([*DEBUGGER, "--quiet", "--no-log", "train.py"], tmp_path)
    assert ran.code == 0, ran.stderr
    rehearsals = [int(each) for each in ran.stdout.decode().splitlines()[0].split()]
    assert rehearsals
    assert not any(Path(f"/proc/{pid}").exists() for pid in rehearsals)
