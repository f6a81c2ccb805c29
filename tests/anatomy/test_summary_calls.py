"""`summary` is called as torchinfo's and torchsummary's are, and finds out which is meant."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
import torchinfo
from torch import nn

from tests.anatomy.architectures import ARCHITECTURES
from tests.anatomy.models import sequences, unusual, vision
from tests.untouched_models import model_untouched
from torch_debugger import summary
from torch_debugger.system.errors import UsageError

BATCH_NOTE = "input_size was taken without the batch dimension: one of 1 was put in front."
NO_CUDA = "The model is on cpu and was summarised there, not on cuda: there is no CUDA device on this machine."


def given(*arguments: Any, **options: Any) -> list[tuple[int, ...]]:
    """The sizes that the model was run with."""
    return [one.size for one in summary(*arguments, verbose=0, **options).inputs]


def test_the_calls_of_the_guides_work(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    model = vision.resnet18()
    summary(model, input_size=(3, 224, 224), device="cuda")
    assert NO_CUDA in capsys.readouterr().out
    summary(
        model,
        input_size=(32, 3, 224, 224),
        col_names=["input_size", "output_size", "num_params", "kernel_size"],
        depth=4,
        verbose=2,
    )
    text = capsys.readouterr().out
    assert "[32, 3, 224, 224]" in text and "of these 588" in text


def test_a_size_with_its_batch_is_taken_as_it_is() -> None:
    result = summary(vision.LeNet(), (2, 1, 28, 28), verbose=0)
    assert (result.inputs[0].size, result.notes) == ((2, 1, 28, 28), ())


@pytest.mark.parametrize(
    ("model", "size"),
    [(vision.LeNet(), (1, 28, 28)), (vision.VGG(), (3, 32, 32)), (vision.VideoNet(), (3, 4, 8, 8))],
    ids=["only a batch fits its Linear", "only a batch fits its norm", "its mean would fit too"],
)
def test_a_size_without_its_batch_gets_one(model: nn.Module, size: tuple[int, ...]) -> None:
    result = summary(model, size, verbose=0)
    assert (result.inputs[0].size, result.notes) == ((1, *size), (BATCH_NOTE,))


def test_a_network_that_takes_one_picture_too_is_given_a_batch() -> None:
    assert given(vision.Autoencoder(), (1, 16, 16)) == [(1, 1, 16, 16)]
    assert given(vision.Autoencoder(), (1, 16, 16), device="meta") == [(1, 1, 16, 16)]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [((4,), {}), ((4, "cpu"), {}), ((), {"batch_size": 4}), ((), {"batch_size": 4, "device": "cpu"})],
)
def test_torchsummarys_batch_size_is_put_in_front(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    assert given(vision.LeNet(), (1, 28, 28), *arguments, **options) == [(4, 1, 28, 28)]


def test_torchsummarys_batch_size_of_minus_one_stands_for_any() -> None:
    assert given(vision.LeNet(), (1, 28, 28), -1) == [(1, 1, 28, 28)]
    assert given(vision.LeNet(), (1, 28, 28), batch_size=-1, device="cpu") == [(1, 1, 28, 28)]


def test_a_model_that_has_a_batch_size_of_its_own_gets_it() -> None:
    class Generator(nn.Module):
        def forward(self, noise: torch.Tensor, batch_size: int) -> torch.Tensor:
            return noise.expand(batch_size, -1)

    assert summary(Generator(), (1, 3), batch_size=7, verbose=0).rows[0].output_size == [7, 3]


@pytest.mark.parametrize(
    "sizes", [[(2, 3, 8, 8), (2, 5)], ((2, 3, 8, 8), (2, 5)), [torch.Size((2, 3, 8, 8)), torch.Size((2, 5))],
              {"table": (2, 5), "image": (2, 3, 8, 8)}],
)  # fmt: skip
def test_several_inputs_have_several_sizes(sizes: Any) -> None:
    assert sorted(given(unusual.MultiInput(), sizes)) == [(2, 3, 8, 8), (2, 5)]


def test_several_sizes_without_their_batches_get_one_each() -> None:
    assert given(unusual.MultiInput(), [(3, 8, 8), (5,)]) == [(1, 3, 8, 8), (1, 5)]


@pytest.mark.parametrize("size", [(2, 8), [2, 8], torch.Size((2, 8)), numpy.array([2, 8])])
def test_a_size_is_any_sequence_of_numbers(size: Any) -> None:
    assert given(unusual.MLP(), size) == [(2, 8)]


def test_a_single_number_is_a_size() -> None:
    assert given(unusual.MLP(), 8) == [(8,)]


def test_batch_dim_is_where_a_batch_of_one_is_put_in() -> None:
    assert given(sequences.SeriesGRU(), (7, 4), batch_dim=1) == [(7, 1, 4)]
    assert given(vision.LeNet(), (1, 28, 28), batch_dim=0) == [(1, 1, 28, 28)]


def test_words_are_tried_where_floats_do_not_fit() -> None:
    result = summary(sequences.TextLSTM(), (2, 7), verbose=0)
    assert result.inputs[0].dtype == "int64"
    assert result.notes == ("dtypes was not given: the model takes int64.",)
    assert summary(sequences.TextLSTM(), (2, 7), dtypes=[torch.long], verbose=0).notes == ()


def test_of_two_inputs_one_may_be_words() -> None:
    class Captioned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.image, self.words = nn.Linear(4, 8), nn.Embedding(10, 8)

        def forward(self, image: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
            return self.image(image) + self.words(words).mean(1)

    result = summary(Captioned(), [(2, 4), (2, 5)], verbose=0)
    assert [one.dtype for one in result.inputs] == ["float32", "int64"]


def test_inputs_have_the_precision_of_the_weights() -> None:
    assert summary(vision.LeNet().bfloat16(), (2, 1, 28, 28), verbose=0).inputs[0].dtype == "bfloat16"
    assert summary(vision.LeNet().double(), (2, 1, 28, 28), verbose=0).inputs[0].dtype == "float64"


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: (x,), lambda x: {"x": x}])
def test_data_is_a_tensor_a_list_a_tuple_or_keywords(wrap: Any) -> None:
    assert given(vision.LeNet(), input_data=wrap(torch.zeros(2, 1, 28, 28))) == [(2, 1, 28, 28)]


def test_a_tensor_in_place_of_the_size_is_data() -> None:
    assert given(vision.LeNet(), torch.zeros(2, 1, 28, 28)) == [(2, 1, 28, 28)]


def test_a_dictionary_that_forward_takes_whole_is_given_whole() -> None:
    class TakesBatch(nn.Module):
        def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
            return batch["a"] + batch["b"]

    batch = {"a": torch.zeros(2, 3), "b": torch.zeros(2, 3)}
    assert given(TakesBatch(), input_data=[batch]) == given(TakesBatch(), input_data=batch) == [(2, 3), (2, 3)]


def test_other_keywords_go_to_forward() -> None:
    class Scaled(nn.Module):
        def forward(self, x: torch.Tensor, times: int, mask: torch.Tensor) -> torch.Tensor:
            return x.repeat(times, 1) * mask

    result = summary(Scaled(), (2, 3), times=5, mask=torch.ones(3), verbose=0)
    assert result.rows[0].output_size == [10, 3]


def test_torchinfos_own_enumerations_are_understood() -> None:
    columns = [torchinfo.ColumnSettings.OUTPUT_SIZE, torchinfo.ColumnSettings.NUM_PARAMS]
    result = summary(
        unusual.MLP(), (2, 8), col_names=columns, row_settings=[torchinfo.RowSettings.VAR_NAMES], verbose=0
    )
    assert "Linear (0)" in str(result)


def test_the_positions_of_arguments_are_torchinfos() -> None:
    ours, theirs = (
        each(
            vision.LeNet(),
            (2, 1, 28, 28),
            None,
            None,
            False,
            ("num_params",),
            20,
            2,
            None,
            None,
            "eval",
            None,
            0,
        )
        for each in (summary, torchinfo.summary)
    )
    assert ours.total_params == theirs.total_params


@pytest.mark.parametrize(("mode", "called"), [("eval", False), (None, False), ("train", True), ("same", True)])
def test_the_mode_decides_what_is_called(mode: str | None, called: bool) -> None:
    model = unusual.NeverCalled()
    assert summary(model, (2, 8), mode=mode, verbose=0)["auxiliary"].called is called
    assert model.training


def test_lazy_layers_have_sizes_and_the_model_stays_lazy() -> None:
    model = unusual.Lazy()
    before, numbers = str(model), torch.get_rng_state()
    result = summary(model, (2, 3, 8, 8), verbose=0)
    assert result.total_params == 3 * 4 * 9 + 4 + 2 * 4 + (4 * 6 * 6) * 5 + 5
    assert result.notes == (
        "Lazy layers were given their sizes on a copy: the model itself still waits for its first batch.",
    )
    assert result["fc"].kind == "Linear"
    assert str(model) == before
    assert torch.equal(numbers, torch.get_rng_state())


def test_without_an_input_lazy_layers_are_not_counted() -> None:
    result = summary(unusual.Lazy(), verbose=0)
    assert result.total_params == 0
    assert result.notes == (
        "No size yet, and not counted: `conv.weight`, `conv.bias`, `norm.weight`, `norm.bias` and 2 more. "
        "Give input_size, and it is known.",
    )


def test_without_an_input_nothing_is_run() -> None:
    class Untouchable(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise AssertionError("was called")

    result = summary(nn.Sequential(Untouchable(3, 4)), verbose=0)
    assert (result.total_params, result.ran) == (16, "")
    assert "(not called)" not in str(result)


def test_a_model_too_large_to_hold_takes_no_memory() -> None:
    with torch.device("meta"):
        model = sequences.Llama(128256, 8192, 80, 64, 8, 28672)
    result = summary(model, (1, 4096), dtypes=[torch.long], verbose=0)
    assert result.total_params == 70_553_706_496
    assert result.rows[0].output_size == [1, 4096, 128256]
    layer = 4096 * (8192 * (2 * 8192 + 2 * 1024 + 3 * 28672)) + 2 * 4096**2 * 8192
    assert result.macs == 80 * layer + 4096 * 8192 * 128256
    assert result.ran == "on shapes"


def test_a_large_input_is_run_on_shapes_and_a_small_one_for_real() -> None:
    with model_untouched(model := vision.resnet18()):
        assert summary(model, (256, 3, 512, 512), verbose=0).ran == "on shapes"
        assert summary(model, (1, 3, 32, 32), verbose=0).ran == "for real"


def test_where_shapes_are_not_enough_the_model_runs_for_real() -> None:
    model = ARCHITECTURES["experts"].model()
    result = summary(model, (64, 1024, 8), verbose=0)
    assert result.ran == "for real"
    assert any(row.called for row in result.rows if row.path.startswith("experts."))


def test_a_model_on_meta_that_asks_for_values_shows_its_parameters() -> None:
    with torch.device("meta"):
        model = sequences.MixtureOfExperts()
    result = summary(model, (2, 9, 8), verbose=0)
    assert (result.total_params, result.ran) == (1156, "")
    assert result.notes[0].startswith("Parameters only, since forward needs the values of tensors: ")


def test_time_is_told_for_real_runs() -> None:
    result = summary(vision.LeNet(), (2, 1, 28, 28), col_names=["time"], verbose=0)
    assert result.ran == "for real"
    assert all(row.own.seconds > -1e-6 for row in result.rows)
    assert result["features.0"].own.seconds > 0
    assert "Forward: " in str(result) and " ms" in str(result)
    assert result.macs == summary(vision.LeNet(), (2, 1, 28, 28), verbose=0).macs


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (((2, 1, 20, 20),), {},
         "the model does not take [2, 1, 20, 20] float32: `classifier.0` (Linear) was given [2, 144]: "
         "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x144 and 400x120)."),
        (((2, -1, 28, 28),), {},
         "input_size=(2, -1, 28, 28) is no size: it is a tuple of positive whole numbers such as "
         "(1, 3, 224, 224), or a list of such tuples for several inputs."),
        ((("a", "b"),), {},
         "input_size=('a', 'b') is no size: it is a tuple of positive whole numbers such as "
         "(1, 3, 224, 224), or a list of such tuples for several inputs."),
        (((2, 1, 28, 28), torch.zeros(2, 1, 28, 28)), {},
         "summary takes input_size or input_data, not both."),
        (((2, 1, 28, 28),), {"col_names": ["outputsize"]},
         "there is no column 'outputsize'. Did you mean 'output_size'? There are: kernel_size, input_size, "
         "output_size, num_params, params_percent, trainable, mult_adds, flops, activations, dtype, device, "
         "time."),
        ((), {"col_names": ["output_size", "time"]},
         "the columns output_size, time need a run of the model: give it input_size or input_data."),
        (((2, 1, 28, 28),), {"row_settings": ["deep"]},
         "row_settings has no 'deep': there are ascii_only, depth, var_names, hide_recursive_layers."),
        (((2, 1, 28, 28),), {"mode": "test"}, "mode='test' is unknown: it is 'eval', 'train' or 'same'."),
        (((2, 1, 28, 28),), {"verbose": 3},
         "verbose=3 is unknown: 0 prints nothing, 1 the table, 2 each parameter too."),
        (((2, 1, 28, 28),), {"col_width": 0}, "col_width=0 is no width: it is a number of characters."),
        (((2, 1, 28, 28),), {"dtypes": [torch.float, torch.long]},
         "dtypes has 2 entries for 1 inputs: it takes one for each."),
        ((), {"input_data": torch.zeros(2, 1, 28, 28, device="meta")},
         "the model is on cpu, but an input is on meta: move one of them."),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(arguments: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        summary(vision.LeNet(), *arguments, **{"verbose": 0} | options)
    assert str(caught.value) == sentence


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(UsageError, match=r"expected a model, an `nn\.Module`, but got str\."):
        summary("resnet18", (1, 3, 224, 224))  # type: ignore[arg-type]


def test_an_exception_of_forward_on_the_users_own_data_is_the_users() -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        summary(vision.LeNet(), input_data=torch.zeros(2, 1, 20, 20), verbose=0)


def test_a_failed_summary_leaves_nothing_behind() -> None:
    for device in (None, "meta"):
        with model_untouched(model := vision.VGG()), pytest.raises(UsageError, match="does not take"):
            summary(model, (2, 1, 20, 20), verbose=0, device=device)


def test_inside_inference_mode_and_without_gradients_it_is_the_same() -> None:
    model = vision.VGG()
    expected = summary(model, (2, 3, 32, 32), verbose=0).to_dict()
    with torch.inference_mode():
        assert summary(model, (2, 3, 32, 32), verbose=0).to_dict() == expected
        assert summary(vision.VGG(), (2, 3, 32, 32), verbose=0).to_dict() == expected


def test_wrappers_are_looked_through() -> None:
    model = vision.LeNet()
    expected = summary(model, (2, 1, 28, 28), verbose=0).to_dict()
    for wrapped in (nn.DataParallel(model), torch.compile(model), torch.compile(nn.DataParallel(model))):
        assert summary(wrapped, (2, 1, 28, 28), verbose=0).to_dict() == expected


def test_a_compiled_part_is_shown_as_it_was_written() -> None:
    plain = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 3)))
    compiled = nn.Sequential(plain[0], torch.compile(plain[1]))
    results = [summary(model, (2, 4), verbose=0) for model in (plain, compiled)]
    assert results[0].to_dict() == results[1].to_dict()


def test_a_scripted_model_is_not_run() -> None:
    result = summary(torch.jit.script(nn.Sequential(nn.Linear(4, 3), nn.ReLU())), (2, 4), verbose=0)
    assert (result.total_params, result.ran, result.model) == (15, "", "Sequential")
    assert result.notes == ("The model is scripted or traced: its layers cannot be listened to, so it was not run.",)


def test_a_scripted_part_is_one_row() -> None:
    scripted = torch.jit.script(nn.Sequential(nn.Linear(4, 3), nn.ReLU()))
    for device, ran in ((None, "for real"), ("meta", "")):
        result = summary(nn.Sequential(nn.Linear(4, 4), scripted), (2, 4), verbose=0, device=device)
        assert ([row.path for row in result.rows], result.total_params) == (["", "0", "1"], 35)
        assert result.ran == ran
    assert "Parameters only" in result.notes[0]


def test_a_model_with_a_tensor_that_is_more_than_its_shape_runs_for_real_and_stays_whole() -> None:
    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 2)
            self.register_buffer("neighbours", torch.eye(4).to_sparse())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sparse.mm(self.neighbours, self.first(x))

    model = Graph()
    weight = model.first.weight
    assert summary(model, (4, 3), verbose=0).rows[0].output_size == [4, 2]
    result = summary(model, (4, 3), verbose=0, device="meta")
    assert "Parameters only" in result.notes[0]
    assert model.first.weight is weight


def test_what_forward_keeps_is_put_back() -> None:
    class Remembers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.seen, self.last = nn.Linear(4, 4), [], None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen.append(x)
            self.last = self.layer(x)
            return self.last

    model = Remembers()
    for device in (None, "meta"):
        summary(model, (2, 4), verbose=0, device=device)
        assert (model.seen, model.last) == ([], None)


def test_keywords_alone_are_a_call() -> None:
    words, mask = torch.zeros(2, 6, dtype=torch.long), torch.ones(2, 6)
    result = summary(unusual.KeywordsOnly(), input_ids=words, attention_mask=mask, verbose=0)
    assert result.rows[0].output_size == [2, 5]
    with pytest.raises(TypeError, match="unexpected keyword argument 'depht'"):
        summary(unusual.MLP(), depht=2, verbose=0)


def test_a_mask_has_values_on_shapes_too() -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(10, 4)

        def forward(self, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            embedded = self.embedding(words)
            return embedded if mask.all() else embedded * mask.unsqueeze(-1)

    with torch.device("meta"):
        model = Masked()
    result = summary(model, [(2, 5), (2, 5)], dtypes=[torch.long], verbose=0)
    assert (result.ran, result.rows[0].output_size) == ("on shapes", [2, 5, 4])
