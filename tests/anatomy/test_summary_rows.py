"""What torchinfo and its kind get wrong, counted by hand."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.anatomy.models import sequences, unusual, vision
from tests.summaries.models import choose_quantizer
from torch_debugger import count_parameters, flops, summary
from torch_debugger.model.summary_table import Summary


def rows_of(result: Summary) -> list[tuple[str, int, int]]:
    """Path, calls, parameters first met here."""
    return [(row.path, row.calls, row.own.params) for row in result.rows]


def summed(model: nn.Module, *size: int, **options: Any) -> Summary:
    return summary(model, size, verbose=0, **options)


def test_a_tied_weight_is_counted_once_and_named() -> None:
    result = summed(unusual.TiedEmbeddings(), 2, 5)
    assert rows_of(result) == [("", 1, 0), ("embedding", 1, 120), ("decoder", 1, 20)]
    assert result["decoder"].tied == ("weight",)
    assert result.notes[-1] == ("Tied parameters, counted once: `embedding.weight` and `decoder.weight` are one.")


def test_a_layer_whose_weights_are_all_tied_says_so() -> None:
    result = summed(sequences.GPT(), 2, 9)
    head = next(line for line in str(result).splitlines() if "lm_head" in line)
    assert head.split()[-2:] == ["(tied)", f"{2 * 9 * 16 * 60:,}"]


def test_a_layer_called_five_times_is_one_row_of_five_calls() -> None:
    result = summed(unusual.Recursive(), 2, 8)
    assert rows_of(result) == [
        ("", 1, 0),
        ("layer", 5, 0),
        ("layer.0", 5, 72),
        ("layer.1", 5, 0),
        ("out", 1, 18),
    ]
    assert result["layer.0"].own.macs == 5 * 2 * 8 * 8
    assert result["layer.0"].own.output_bytes == 5 * 2 * 8 * 4
    assert "├─ layer (Sequential) \N{MULTIPLICATION SIGN}5" in str(result)


def test_calls_with_other_sizes_are_rows_of_their_own() -> None:
    class Pyramid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 3, padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(F.max_pool2d(self.conv(x), 2))

    result = summed(Pyramid(), 2, 3, 8, 8)
    assert [(row.output_size, row.reused, row.own.params) for row in result.rows[1:]] == [
        ([2, 3, 8, 8], False, 84), ([2, 3, 4, 4], True, 0),
    ]  # fmt: skip
    assert "(reused)" in str(result)


def test_a_module_under_two_names_is_one() -> None:
    result = summed(unusual.SharedModule(), 2, 8)
    assert rows_of(result) == [("", 1, 0), ("encode", 2, 72), ("out", 1, 18)]
    assert result.notes == ("Modules under several names, counted once: `again` is `encode`.",)


def test_a_module_that_contains_itself_is_counted_once() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    model[1].whole = model  # a part that knows what it belongs to
    result = summed(model, 2, 4)
    assert rows_of(result) == [("", 1, 0), ("0", 1, 20), ("1", 1, 0)]
    assert result.macs == flops(model, torch.randn(2, 4)).macs == 2 * 4 * 4
    assert summary(model, verbose=0).total_params == count_parameters(model).total == 20


def test_a_trunk_for_two_images_is_counted_once() -> None:
    result = summary(unusual.Siamese(), [(2, 1, 8, 8), (2, 1, 8, 8)], verbose=0)
    assert result["trunk"].calls == 2
    assert result.total_params == (9 * 4 + 4) + (144 * 8 + 8) + 9
    assert result.macs == 2 * 2 * (4 * 9 * 36 + 144 * 8) + 2 * 8


def test_parameters_of_a_container_are_its_own() -> None:
    result = summed(unusual.HoldsParameters(), 2, 8)
    assert rows_of(result) == [
        ("", 1, 8), ("heads", 1, 0), ("heads.a", 1, 18), ("heads.b", 1, 27), ("extra", 1, 24),
    ]  # fmt: skip
    assert [(one.name, one.size) for one in result.rows[0].outputs] == [("a", (2, 2)), ("b", (2, 3))]


def test_a_module_that_is_not_called_is_shown_and_said() -> None:
    result = summed(unusual.NeverCalled(), 2, 8)
    assert [row.path for row in result.rows if row.idle] == ["auxiliary", "auxiliary.0", "auxiliary.1"]
    assert result.total_params == 72 + 18 + 36 + 10
    assert result.notes == ("Not called for this input: `auxiliary`.",)
    assert str(result).count("(not called)") == 3


def test_frozen_parts_are_told_apart() -> None:
    result = summed(unusual.Frozen(), 2, 3, 8, 8, col_names=["num_params", "trainable"])
    assert (result.total_params, result.trainable_params, result.frozen_params) == (130, 8, 122)
    assert [line.split()[-2:] for line in str(result).splitlines()[3:9]] == [
        ["--", "Partial"], ["--", "False"], ["(112)", "False"], ["(8)", "False"], ["--", "--"],
        ["10", "Partial"],
    ]  # fmt: skip


def test_attention_has_the_weights_of_its_output_which_it_never_calls() -> None:
    class Attends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.attention(x, x, x)[0]

    for mode in ("eval", "train"):
        result = summed(Attends(), 2, 5, 8, mode=mode)
        assert rows_of(result) == [("", 1, 0), ("attention", 1, 4 * 64 + 4 * 8)]
        assert [held.name for held in result["attention"].held] == [
            "in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias",
        ]  # fmt: skip
        assert "Not called" not in str(result)


def test_the_parts_of_a_transformer_layer_are_seen_in_evaluation_too() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    result = summed(layer, 2, 5, 8)
    assert {row.path for row in result.rows if row.called} == {
        "", "self_attn", "linear1", "linear2", "norm1", "norm2", "dropout", "dropout1", "dropout2",
    }  # fmt: skip
    assert result.total_params == sum(value.numel() for value in layer.parameters())


def test_what_a_hook_of_the_users_computes_belongs_to_its_layer() -> None:
    layer = nn.utils.spectral_norm(nn.Linear(4, 4)).eval()
    norm = 4 * 4 + 4  # W v, and its product with u
    assert summed(layer, 2, 4).macs == flops(layer, (2, 4)).macs == 2 * 4 * 4 + norm
    assert summed(nn.Sequential(layer), 2, 4)["0"].own.macs == 2 * 4 * 4 + norm


def test_a_parametrized_layer_is_one_row_with_all_its_weights() -> None:
    result = summed(vision.Discriminator(), 2, 3, 16, 16)
    assert ("main.0", 1, 8 * 3 * 16 + 8) in rows_of(result)
    assert result["main.0"].kind == "Conv2d"
    assert [row.path for row in result.rows] == ["", "main", "main.0", "main.1", "main.2", "main.3"]


def test_the_weights_of_quantized_layers_are_counted() -> None:
    choose_quantizer()
    with warnings.catch_warnings():  # newer torch warns of what will be gone one day
        warnings.simplefilter("ignore")
        model = torch.ao.quantization.quantize_dynamic(
            nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.LSTM(3, 5)), {nn.Linear, nn.LSTM}, torch.qint8
        )
    result = summed(model, 7, 2, 4)
    assert rows_of(result) == [("", 1, 0), ("0", 1, 15), ("1", 1, 0), ("2", 1, 4 * 5 * (3 + 5) + 2 * 4 * 5)]
    assert result.trainable_params == 0
    assert result.total_param_bytes == (12 + 4 * 3) + (160 + 4 * 40)


def test_outputs_written_in_place_and_views_take_no_memory_of_their_own() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Identity(), nn.ReLU())
    for device in (None, "meta"):
        result = summed(model, 2, 3, 8, 8, device=device)
        size = 2 * 4 * 6 * 6 * 4
        assert [row.own.output_bytes for row in result.rows] == [0, size, 0, 0, 0, size]


def test_a_module_that_gives_its_own_parameter_makes_nothing() -> None:
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.value = nn.Parameter(torch.zeros(5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.value

    assert summed(Constant(), 2, 3).total_output_bytes == 0


def test_a_module_from_elsewhere_stands_where_it_is_called_by_its_whole_path() -> None:
    class Inner(nn.Module):
        def forward(self, x: torch.Tensor, norm: nn.Module) -> torch.Tensor:
            return norm(x) + 1

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.inner = nn.LayerNorm(4), Inner()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x, self.norm)

    result = summed(Outer(), 2, 4)
    assert [(row.path, row.name, row.depth) for row in result.rows] == [
        ("", "", 0), ("inner", "inner", 1), ("norm", "norm", 2),
    ]  # fmt: skip


def test_lists_of_modules_stand_between_a_call_and_its_caller() -> None:
    result = summed(sequences.GPT(), 2, 9)
    assert [(row.path, row.depth) for row in result.rows if row.path.count(".") < 2][:7] == [
        ("", 0), ("wte", 1), ("wpe", 1), ("drop", 1), ("h", 1), ("h.0", 2), ("h.1", 2),
    ]  # fmt: skip


def test_a_layer_that_raises_and_is_caught_does_not_disturb_the_tree() -> None:
    class Tries(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wrong, self.right = nn.Linear(5, 5), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            try:
                return self.wrong(x)
            except RuntimeError:
                return self.right(x)

    result = summed(Tries(), 2, 4)
    assert result["right"].output_size == [2, 2]
    assert result["right"].depth == 1


def test_every_kind_of_output_has_sizes() -> None:
    hub = summary(unusual.KeywordsOnly(), {"input_ids": (2, 6), "attention_mask": (2, 6)}, verbose=0)
    assert [(one.name, one.size) for one in hub.rows[0].outputs] == [("logits", (2, 5))]
    assert [one.name for one in hub.inputs] == ["input_ids", "attention_mask"]
    dataclass = summed(unusual.DataclassOutput(), 2, 8)
    assert [one.name for one in dataclass.rows[0].outputs] == ["logits", "hidden.0", "hidden.1"]


def test_packed_sequences_are_seen() -> None:
    class Packs(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(4, 6, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True)
            return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]

    for device in (None, "meta"):
        result = summed(Packs(), 2, 5, 4, device=device)
        assert (result["lstm"].input_size, result["lstm"].output_size) == ([8, 4], [8, 6])
        assert result.rows[0].output_size == [2, 5, 6]


def test_rows_are_found_by_path_and_numbers_are_plain() -> None:
    result = summed(vision.LeNet(), 2, 1, 28, 28)
    row = result["features.0"]
    assert (row.kernel, row.params, row.own.macs) == ((5, 5), 156, 2 * 6 * 25 * 28 * 28)
    plain = result.to_dict()
    assert plain["totals"]["params"] == 61706
    assert plain["rows"][2]["outputs"] == [{"name": "", "size": [2, 6, 28, 28], "dtype": "float32"}]


def test_a_container_whose_parts_are_called_one_by_one_is_not_called_idle() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.encoder[1](self.encoder[0](x))

    result = summed(Outer(), 2, 4)
    assert [(row.path, row.called, row.idle) for row in result.rows] == [
        ("", True, False), ("encoder", False, False), ("encoder.0", True, False), ("encoder.1", True, False),
    ]  # fmt: skip
    assert result.notes == ()
