"""Crashes near a DataLoader that are none of its own, and workers' errors that reach us only as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge
from torch_debugger.crashes.loading_samples import fetch_again

OURS = {
    "sample-raises", "worker-killed", "unpicklable-object", "missing-main-guard", "too-many-open-files",
    "loader-timeout", "loader-misuse",
}  # fmt: skip
DATA = "from torch.utils.data import DataLoader, Dataset, TensorDataset\n"
LOADER = DATA + "loader = DataLoader(TensorDataset(torch.randn(8, 2), torch.randn(8, 1)), batch_size=4)\n"

LOOKALIKES = {
    "the user's own words of a worker": """
head = "Caught KeyError in DataLoader worker process 0."
raise KeyError(head + "\\nOriginal Traceback (most recent call last):\\n")
""",
    "the user's own words of a dead worker": """
for x, y in loader:
    raise RuntimeError("DataLoader worker (pid(s) 4711) exited unexpectedly")
""",
    "the user's own words of a timeout": "raise RuntimeError('DataLoader timed out after 5 seconds')\n",
    "the user's own words of open files": "raise RuntimeError('Too many open files. Communication')\n",
    "the user's own words of ancdata": "raise RuntimeError('received 0 items of ancdata')\n",
    "the user's own words of a guard": "raise RuntimeError('An attempt has been made to start')\n",
    "the user's own words of pickle": 'import pickle\nraise pickle.PicklingError("Can\'t pickle lambda")\n',
    "the user's own words of a sampler": """
raise ValueError("sampler option is mutually exclusive with shuffle")
""",
    "a key that is not there, beside a loader": """
for x, y in loader:
    {"a": 1}["b"]
""",
    "an index out of a list, in the loop": """
for x, y in loader:
    [1, 2][5]
""",
    "a file that is not there, in the loop": """
for x, y in loader:
    open("no_such_folder_here/weights.pt")
""",
    "an unpacking of something else in the loop": """
for x, y in loader:
    a, b = 1, 2, 3
""",
    "an unpacking of a list of tuples": """
for a, b in [(1, 2), (1, 2, 3)]:
    pass
""",
    "next of a list": "next([loader])\n",
    "a shape that does not fit, in the loop": """
for x, y in loader:
    x @ torch.randn(3, 3)
""",
    "a batch of a collate function of its own": """
def collate(samples):
    return [sample[0] for sample in samples]
for x, y in DataLoader(loader.dataset, batch_size=4, collate_fn=collate):
    pass
""",
    "an attribute of torch that does not exist, in a dataset": """
class Data(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.no_such_function(index)
for batch in DataLoader(Data()):
    pass
""",
    "a product that does not fit, in a dataset": """
class Data(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.randn(2, 3) @ torch.randn(2, 3)
for batch in DataLoader(Data()):
    pass
""",
    "samples of different sizes": """
class Data(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.zeros(index + 1)
for batch in DataLoader(Data(), batch_size=4):
    pass
""",
    "a pickle of the user's own": "import pickle\npickle.dumps(lambda: 0)\n",
    "a lambda that fails": "list(map(lambda sample: sample.missing, [loader]))\n",
    "a key error in a function that the loop calls": """
def look_up(table, key):
    return table[key]
for x, y in loader:
    look_up({"a": 1}, "b")
""",
    "a file that is a folder": "open('.')\n",
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_nothing_is_said(name: str, tmp_path: Path) -> None:
    crash = crash_of(tmp_path / "net.py", HEAD + LOADER + LOOKALIKES[name].lstrip("\n"))
    assert not OURS & set(claims(crash))


WORKER = """
class Data(Dataset):
    def __init__(self):
        self.names = {0: "a", 1: "b", 2: "c"}
    def __len__(self):
        return 4
    def __getitem__(self, index):
        %s
for batch in DataLoader(Data(), batch_size=2, num_workers=1, shuffle=False):
    pass
"""


def test_an_error_in_a_worker_is_told_with_its_own_line(tmp_path: Path) -> None:
    source = HEAD + DATA + WORKER % "return len(self.names[index])"
    finding = judge(crash_of(tmp_path / "net.py", source))[0]
    assert (finding.name, finding.where.line) == ("sample-raises", 13)
    assert "Data" in finding.message


def test_an_error_of_a_worker_that_changed_its_file_names_no_line(tmp_path: Path) -> None:
    """The text of a worker's traceback is believed only where the source still says the same."""
    source = HEAD + DATA + WORKER % "raise ValueError('odd')"
    changed = source.replace("for batch in", "open(__file__, 'w').write('# gone')\nfor batch in")
    assert claims(crash_of(tmp_path / "net.py", changed)) == []


LEFT = """
class Data(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        if index == 2:
            import ctypes
            ctypes.string_at(8, 4)
        return torch.zeros(2)
loader = DataLoader(Data(), batch_size=1, num_workers=1, prefetch_factor=2)
for batch in loader:
    import time
    time.sleep(300)
"""


def test_a_worker_that_dies_while_the_loop_is_busy_elsewhere(tmp_path: Path) -> None:
    """The exception leaves the loop, and the iterator goes with it: no process is left to be asked."""
    finding = judge(crash_of(tmp_path / "net.py", HEAD + DATA + LEFT))[0]
    assert (finding.name, finding.where.line) == ("worker-killed", 13)
    assert "was ended by SIGSEGV while it fetched sample 2 of `Data` at net.py:13" in finding.message


class Four:
    def __getitem__(self, index: int) -> int:
        if index == 2:
            raise ValueError("odd")
        if index == 3:
            import os

            os._exit(7)
        return index


def test_samples_fetched_again_are_fetched_elsewhere() -> None:
    again = fetch_again(Four(), [0, 1, 2, 3], limit_s=30.0)
    assert [index for index, _ in again.forms] == [0, 1]
    assert [(index, raised.kind) for index, raised in again.raised] == [(2, "ValueError")]
    assert (again.stuck, again.died) == (3, True)
    assert again.place.code == "os._exit(7)"
