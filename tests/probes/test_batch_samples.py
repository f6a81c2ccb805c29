"""A few samples of the data as the model and the loss were given it."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.probes.test_lagging import LateTransfer
from tests.probes.watching import Seen, watched
from torch_debugger.log.encoder import Encoder
from torch_debugger.probes.data.samples import SIDE, BatchSamples, piece_of
from torch_debugger.records import BatchSample, Record
from torch_debugger.records.codec import from_plain, to_plain


def numbers(sample: BatchSample) -> Any:
    raw = zlib.decompress(base64.b64decode(sample.data))
    return np.frombuffer(raw, np.uint8 if sample.kind == "image" else "<f4").reshape(sample.kept)


def train(model: nn.Module, batches: Any, loss_of: Any, **settings: Any) -> Seen:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with watched(**settings) as seen:
        for x, y in batches:
            loss = loss_of(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return seen


def classify(steps: int = 3, **settings: Any) -> Seen:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 14 * 14, 5))
    batches = [(torch.rand(20, 3, 16, 16), torch.randint(0, 5, (20,))) for _ in range(steps)]
    return train(model, batches, nn.functional.cross_entropy, **settings)


def test_pictures_and_their_labels_are_the_first_of_the_batch() -> None:
    torch.manual_seed(0)
    x, y = torch.rand(20, 3, 16, 16) * 4 - 1, torch.randint(0, 5, (20,))
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 14 * 14, 5))
    given, target = train(model, [(x, y)], nn.functional.cross_entropy).of(BatchSample)

    assert (given.role, given.root, given.name, given.kind) == ("input", "model", "input", "image")
    assert (given.shape, given.dtype, given.kept) == ((20, 3, 16, 16), "float32", (8, 3, 16, 16))
    assert given.low == x[:8].min() and given.high == x[:8].max()
    back = given.low + numbers(given) / 254 * (given.high - given.low)
    assert np.abs(back - x[:8].numpy()).max() <= (given.high - given.low) / 254
    assert (target.role, target.kind, target.padding) == ("target", "values", -100)
    assert numbers(target).tolist() == y[:8].tolist()


def test_large_pictures_are_made_small_and_stay_within_the_limit() -> None:
    x = torch.rand(16, 3, 224, 300)
    piece = piece_of(x, nn.Conv2d(3, 4, 3))

    assert piece is not None and max(piece.values.shape[2:]) <= SIDE
    assert piece.values.numel() <= 74_000
    torch.testing.assert_close(piece.values[0, 0, 0, 0], x[0, 0, :5, :5].mean())


def test_channels_last_pictures_are_told_from_channels_first() -> None:
    assert piece_of(torch.rand(4, 12, 10, 3), None).values.shape == (4, 3, 12, 10)  # type: ignore[union-attr]
    assert piece_of(torch.rand(4, 3, 12, 3), None).values.shape == (4, 3, 12, 3)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tensor", "reader", "kind", "kept"),
    [
        (torch.rand(9, 700), nn.Linear(700, 2), "vectors", (8, 256)),
        (torch.rand(9, 784).view(9, 784), nn.Linear(784, 2), "vectors", (8, 256)),
        (torch.rand(9, 1, 28, 28).view(9, 784), nn.Linear(784, 2), "image", (8, 1, 28, 28)),
        (torch.rand(9, 28, 28), nn.Linear(784, 2), "image", (8, 1, 28, 28)),
        (torch.rand(9, 28, 28), nn.LSTM(28, 4, batch_first=True), "series", (8, 8, 28)),
        (torch.rand(9, 12, 500), nn.Conv1d(12, 4, 3), "series", (8, 8, 256)),
        (torch.rand(9, 40, 6), nn.Linear(6, 4), "series", (8, 6, 40)),
        (torch.randint(0, 9, (9, 300)), nn.Embedding(9, 4), "tokens", (8, 128)),
        (torch.rand(2, 1, 9, 20, 20), nn.Conv3d(1, 4, 3), "image", (2, 1, 20, 20)),
        (torch.rand(9), None, "values", (8,)),
        (torch.rand(2, 7, 9, 9), nn.Conv2d(7, 4, 3), "image", (2, 4, 9, 9)),
        (torch.rand(2, 1, 4, 9000), nn.Conv2d(1, 4, 3), "image", (2, 1, 1, 64)),
    ],
)
def test_the_form_follows_the_shape_and_the_first_layer(
    tensor: torch.Tensor, reader: Any, kind: str, kept: Any
) -> None:
    piece = piece_of(tensor, reader)

    assert piece is not None
    assert (piece.kind, tuple(piece.values.shape)) == (kind, kept)


def test_targets_of_a_segmentation_are_a_mask() -> None:
    piece = piece_of(torch.randint(0, 4, (6, 128, 128)), None, target=True)

    assert piece is not None and (piece.kind, tuple(piece.values.shape[1:])) == ("mask", (64, 64))


def test_tokens_have_their_padding_and_flattened_targets_come_back_as_rows() -> None:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.out = nn.Embedding(30, 8, padding_idx=0), nn.Linear(8, 30)

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.out(self.embed(input_ids)).reshape(-1, 30)
            return out

    x = torch.randint(0, 30, (4, 7))
    given, target = train(Tagger(), [(x, x.reshape(-1))], nn.functional.cross_entropy).of(BatchSample)

    assert (given.name, given.kind, given.padding) == ("input_ids", "tokens", 0)
    assert numbers(given).tolist() == x.tolist()
    assert (target.kind, target.note) == ("tokens", "flattened for the loss")
    assert numbers(target).tolist() == x.tolist()


def test_the_target_of_a_loss_written_by_hand_is_worked_out() -> None:
    x, y = torch.rand(6, 3), torch.rand(6, 2)
    seen = train(nn.Linear(3, 2), [(x, y)], lambda out, y: ((out - y) ** 2).mean()).of(BatchSample)

    assert "rounded" in seen[1].note
    np.testing.assert_allclose(numbers(seen[1]), y.numpy(), atol=1e-5)


def test_samples_come_ever_more_rarely_and_no_more_than_a_dozen_times(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BatchSamples.MOST == 12
    monkeypatch.setattr(BatchSamples, "MOST", 6)
    batches = [(torch.rand(2, 3), torch.rand(2, 1))] * 66
    seen = train(nn.Linear(3, 1), batches, nn.functional.mse_loss)
    steps = [sample.step for sample in seen.of(BatchSample) if sample.role == "input"]

    assert steps == [1, 2, 4, 8, 16, 32]


def test_the_log_of_a_run_never_holds_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchSamples, "MOST_BYTES", 2000)

    assert len(classify(5).of(BatchSample)) <= 2  # of 6


def test_a_call_on_one_sample_before_the_batch_does_not_stand_for_it() -> None:
    model, x = nn.Linear(3, 1), torch.rand(16, 3)
    with watched() as seen:
        model(x[:1])
        model(x).sum().backward()

    assert [sample.shape for sample in seen.of(BatchSample)] == [(16, 3)]


def test_what_another_model_made_is_no_data() -> None:
    first, second = nn.Linear(3, 4), nn.Linear(4, 1)
    with watched() as seen:
        second(first(torch.rand(5, 3))).sum().backward()

    assert [sample.root for sample in seen.of(BatchSample)] == ["first"]


def test_numbers_that_are_not_finite_are_told_and_kept_apart() -> None:
    x = torch.rand(2, 1, 4, 4)
    x[0, 0, 0, 0], x[1, 0, 1, 1] = torch.nan, torch.inf
    with watched(faults=True) as seen:
        nn.Conv2d(1, 1, 3)(x).sum().backward()
    (sample,) = seen.of(BatchSample)

    assert sample.not_finite == 2 and sample.high <= 1.0
    assert numbers(sample)[0, 0, 0, 0] == numbers(sample)[1, 0, 1, 1] == 255
    assert (numbers(sample) == 255).sum() == 2


def test_a_batch_of_one_value_does_not_divide_by_its_range() -> None:
    with watched() as seen:
        nn.Conv2d(1, 1, 3)(torch.ones(2, 1, 4, 4)).sum().backward()

    assert not numbers(seen.of(BatchSample)[0]).any()


def test_from_a_device_they_come_later_and_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = classify(4).of(BatchSample)
    monkeypatch.setattr("torch_debugger.probes.watch.Transfer", LateTransfer)
    late = classify(4).of(BatchSample)

    assert sorted(late, key=_order) == sorted(at_once, key=_order)


def _order(sample: BatchSample) -> tuple[int, str]:
    return sample.step, sample.role


def test_no_random_number_is_drawn_and_no_input_is_changed() -> None:
    torch.manual_seed(1)
    x = torch.rand(8, 3, 90, 90)
    before, state = x.clone(), torch.get_rng_state()
    model = nn.Conv2d(3, 1, 3, bias=False)
    torch.set_rng_state(state)
    with watched(rehearse=False):
        model(x).sum().backward()

    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(x, before)


def test_they_can_be_switched_off() -> None:
    assert not classify(samples=False).of(BatchSample)


def test_a_record_comes_back_from_the_log_as_it_was() -> None:
    (sample, *_) = classify(1).of(BatchSample)
    record: Record | None = from_plain("BatchSample", to_plain(sample))

    assert record == sample
    assert sample.data.encode() in Encoder(10**9, print).encode([sample])


def test_a_run_that_falls_in_its_first_forward_shows_what_it_was_given() -> None:
    model = nn.Sequential(nn.Linear(10, 16), nn.Linear(17, 2))
    with watched() as seen, pytest.raises(RuntimeError, match="cannot be multiplied"):
        model(torch.randn(6, 10))
    assert [(each.step, each.role, each.shape) for each in seen.of(BatchSample)] == [(1, "input", (6, 10))]
