"""The way of a result through the user's source, up to the line that cuts it off."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable, Iterator

import pytest

from torch_debugger.source.detached_results import find_cut, find_dropped, find_switch

FILE = "<flow>"


Write = Callable[[str], str]


@pytest.fixture
def write() -> Iterator[Write]:
    def put(source: str) -> str:
        text = textwrap.dedent(source).lstrip("\n")
        linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
        return FILE

    yield put
    linecache.cache.pop(FILE, None)


@pytest.mark.parametrize(
    "line",
    [
        "h = h.detach()",
        "h = h.data",
        "h = torch.tensor(h.tolist())",
        "h = torch.from_numpy(h.numpy())",
        "h = one_hot(h.argmax(dim=1))",
        "return head(h.detach())",
    ],
)
def test_a_cut_on_the_way_is_found(write: Write, line: str) -> None:
    file = write(f"""
        def forward(self, x):
            h = self.encoder(x)
            {line}
            return self.head(h)
    """)
    found = find_cut([(file, 2)])
    assert found is not None and found.line == 3


@pytest.mark.parametrize("line", ["states.append(h.detach())", "states[t] = h.data", "states += [h.detach()]"])
def test_a_cut_on_the_way_into_a_list_is_found(write: Write, line: str) -> None:
    file = write(f"""
        def forward(self, x):
            for t in range(len(x)):
                h = self.cell(x[t], h)
                {line}
            states = torch.stack(states)
            return self.head(states)
    """)
    found = find_cut([(file, 3)])
    assert found is not None and found.line == 4


def test_a_cut_in_an_object_that_is_called_around_the_part_is_found(write: Write) -> None:
    file = write("""
        class Scaler:
            def __call__(self, codes):
                values = codes.numpy()
                return torch.from_numpy(values / 2)

        class Net(nn.Module):
            def __init__(self):
                self.scale = Scaler()

            def forward(self, x):
                return self.head(self.scale(self.encoder(x)))
    """)
    found = find_cut([(file, 11)])
    assert found is not None and found.line == 4


def test_what_is_collected_for_nobody_is_no_cut(write: Write) -> None:
    file = write("""
        def forward(self, x):
            h = self.encoder(x)
            seen.append(h.detach())
            return self.head(h)
    """)
    assert find_cut([(file, 2)]) is None


def test_what_is_cut_beside_the_way_is_not(write: Write) -> None:
    file = write("""
        def forward(self, x):
            h = self.encoder(x)
            other = x.detach()
            self.kept = h.detach()
            print(h.mean().item())
            return self.head(h, other)
    """)
    assert find_cut([(file, 2)]) is None


def test_the_way_goes_on_where_the_result_is_returned_and_ends_at_backward(write: Write) -> None:
    file = write("""
        def features(x):
            return encoder(x)

        def train(x):
            h = features(x)
            h = whiten(h)
            loss = head(h)
            loss.backward()
            value = loss.item()

        def whiten(h):
            values = h.detach().numpy()
            return torch.tensor(values)
    """)
    found = find_cut([(file, 2), (file, 5)])
    assert found is not None and found.line == 13
    assert find_cut([(file, 7)]) is None


def test_a_result_that_nobody_reads(write: Write) -> None:
    file = write("""
        def forward(self, x):
            h = self.norm(x)
            self.dropout(x)
            _ = self.aux(x)
            y = self.mlp(x)
            return y
    """)
    found = [find_dropped(file, line) for line in (2, 3, 4, 5)]
    assert [place.line if place else None for place in found] == [2, 3, None, None]


def test_the_block_without_gradients(write: Write) -> None:
    file = write("""
        @torch.no_grad()
        def features(x):
            return encoder(x)

        def train(x):
            with torch.inference_mode():
                h = features(x)
            return head(h)
    """)
    found = [find_switch(file, line) for line in (3, 7, 8)]
    assert [place.line if place else None for place in found] == [1, 6, None]
