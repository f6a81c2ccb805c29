"""`model_graph`: boxes and lines as one would draw them by hand, in every form it can be saved."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch
from torch import nn

import torch_debugger
from tests.drawings.geometry import check, of_scene
from tests.drawings.models import GPT, Everything, Recurrent, Residual, Siamese, UNet, Wild, drawable
from tests.pictures.goldens import assert_as_looked_at
from tests.summaries.models import CASES
from tests.untouched_models import model_untouched
from torch_debugger.pictures.model_graph import ModelDrawing, model_graph
from torch_debugger.report.model_graph_folding import MOST_BOXES
from torch_debugger.system.errors import UsageError

SVG = "{http://www.w3.org/2000/svg}"
EVERY = {**drawable(), **{f"log: {name}": (make(), inputs) for name, (make, inputs) in CASES.items()}}


def edges(drawing: ModelDrawing) -> set[tuple[str, str]]:
    """Between boxes, by the names in the keys: ("fc1", "act")."""
    return {(_short(edge["from"]), _short(edge["to"])) for edge in drawing.to_dict()["edges"]}


def _short(key: str) -> str:
    return key.partition("/")[2].replace("/", ".") or key


def shown(drawing: ModelDrawing, **view: object) -> list[str]:
    """The names of the boxes in the SVG, in order."""
    root = ElementTree.fromstring(drawing.svg(**view))  # type: ignore[arg-type]
    boxes = [group for group in root.iter(f"{SVG}g") if (group.get("class") or "").startswith("box")]
    return [next(group.iter(f"{SVG}text")).text or "" for group in boxes]


@pytest.mark.parametrize("name", EVERY)
def test_nothing_overlaps_and_lines_end_at_boxes(name: str) -> None:
    drawing = model_graph(*EVERY[name])
    for opened in (drawing._opened(None, ()), set(), drawing._opened(2, ()), _all(drawing)):
        check(of_scene(drawing._parts.scene(opened)))
    assert len(shown(drawing)) <= MOST_BOXES


def _all(drawing: ModelDrawing) -> set[str]:
    keys = {part.key for part in drawing._parts.root.all_parts() if part.parts}
    return keys if len(keys) < 60 else set()


def test_a_residual_block() -> None:
    drawing = model_graph(Residual(), torch.randn(2, 4))
    assert edges(drawing) == {
        ("x", "fc1"),
        ("fc1", "act"),
        ("act", "fc2"),
        ("fc2", "add"),
        ("x", "add"),
        ("add", "output"),
    }


def test_the_skips_of_a_u_net() -> None:
    drawing = model_graph(UNet(), torch.randn(1, 1, 8, 8))
    assert {("down1.1", "cat_2"), ("down2.1", "cat"), ("up2", "cat"), ("up1", "cat_2")} <= edges(drawing)
    assert ("down1.1", "cat") not in edges(drawing)
    assert shown(drawing, depth=1) == [
        "x", "down1", "max_pool2d", "down2", "max_pool2d", "middle", "up2", "cat", "dec2", "up1", "cat", "dec1",
        "out", "output",
    ]  # fmt: skip


def test_a_module_called_twice_is_two_boxes() -> None:
    drawing = model_graph(Siamese(), torch.randn(2, 4), torch.randn(2, 4))
    assert edges(drawing) >= {
        ("left", "trunk.0"),
        ("right", "trunk_2.0"),
        ("trunk.1", "sub"),
        ("trunk_2.1", "sub"),
    }
    assert "Sequential, call 2" in drawing.svg(depth=1) and "same params" in drawing.svg(depth=1)
    calls = {module["path"]: module["calls"] for module in drawing.to_dict()["modules"]}
    assert calls == {"": 1, "trunk": 2, "trunk.0": 2, "trunk.1": 2}


def test_views_are_words_on_the_line() -> None:
    drawing = model_graph(GPT(), torch.randint(20, (2, 6)))
    between = [
        edge for edge in drawing.to_dict()["edges"] if edge["to"].endswith("h/0/attn/scaled_dot_product_attention")
    ]
    assert {edge["from"] for edge in between} == {"GPT/h/0/attn/qkv"}
    assert between[0] == {
        "from": "GPT/h/0/attn/qkv", "to": "GPT/h/0/attn/scaled_dot_product_attention",
        "by": ["chunk", "unflatten", "transpose"], "shape": "[2, 2, 6, 4]", "dtype": "float32",
    }  # fmt: skip
    assert "chunk, unflatten, transpose [2, 2, 6, 4]" in drawing.svg()
    assert not {"chunk", "transpose", "arange"} & set(shown(drawing))


def test_text() -> None:
    lines = str(model_graph(Residual(), torch.randn(2, 4))).splitlines()
    assert lines == [
        "Residual: 4 operations, 76 parameters",
        "1  x       input   [2, 4]",
        "2  fc1     Linear  [2, 8]  40 params",
        "3  act     ReLU    [2, 8]",
        "4  fc2     Linear  [2, 4]  36 params",
        "5  add             [2, 4]             of 1, 4",
        "6  output          [2, 4]",
    ]


def test_text_of_modules_in_modules() -> None:
    assert (
        str(model_graph(GPT(12), torch.randint(20, (2, 6))))
        == """\
GPT: 234 operations, 7,664 parameters
 1  idx                                 input       [2, 6]
 2  wte                                 Embedding   [2, 6, 8]     160 params
 3  wpe                                 Embedding   [6, 8]        128 params    of constants
 4  add                                             [2, 6, 8]                   of 2, 3
    h                                   ModuleList  [2, 6, 8]     7,200 params
      h.0                               Block       [2, 6, 8]     600 params
 5      ln_1                            LayerNorm   [2, 6, 8]     16 params
        attn                            Attention   [2, 6, 8]     288 params
 6        qkv                           Linear      [2, 6, 24]    216 params
 7        scaled_dot_product_attention              [2, 2, 6, 4]
 8        proj                          Linear      [2, 6, 8]     72 params
 9      add                                         [2, 6, 8]                   of 4, 8
10      ln_2                            LayerNorm   [2, 6, 8]     16 params
        mlp                             Sequential  [2, 6, 8]     280 params
11        mlp.0                         Linear      [2, 6, 16]    144 params
12        mlp.1                         GELU        [2, 6, 16]
13        mlp.2                         Linear      [2, 6, 8]     136 params
14      add                                         [2, 6, 8]                   of 9, 13
15    11 more like h.0                              h.1 to h.11
16  ln_f                                LayerNorm   [2, 6, 8]     16 params
17  head                                Linear      [2, 6, 20]    160 params
18  output                                          [2, 6, 20]"""
    )


def test_what_is_folded_can_be_opened() -> None:
    drawing = model_graph(GPT(12), torch.randint(20, (2, 6)))
    assert "11 more like h.0" in shown(drawing)
    assert {"h.1", "h.11"} <= set(shown(drawing, expanded=["h.3"])) and "h.3" not in shown(drawing, expanded=["h.3"])
    assert set(shown(drawing, depth=1, expanded="h")) >= {f"h.{place}" for place in range(12)}
    assert "39 more like cell to out" in shown(model_graph(Recurrent(), torch.randn(2, 40, 4)))


def test_a_loop_of_thousands() -> None:
    class Loop(nn.Module):
        def forward(self, x):
            for _ in range(1500):
                x = torch.tanh(x) * 0.9
            return x

    drawing = model_graph(Loop(), torch.ones(2))
    assert shown(drawing) == ["x", "tanh", "mul", "1,499 more like tanh to mul", "output"]


def test_hundreds_of_operations_become_pieces() -> None:
    boxes = shown(model_graph(Wild(), torch.randn(4)))
    assert 10 <= len(boxes) <= 30 and boxes[0] == "x" and boxes[-1] == "output"


@pytest.mark.parametrize(
    "given",
    [
        lambda a, b, c: ((a, b, c), {}),
        lambda a, b, c: (((a, b, c),), {}),
        lambda a, b, c: (([a, b, c],), {}),
        lambda a, b, c: (({"image": a, "tokens": b, "table": c},), {}),
        lambda a, b, c: (((a, b, {"table": c}),), {}),
    ],
)
def test_inputs_as_people_write_them(given) -> None:
    arguments, keywords = given(torch.randn(2, 3, 8, 8), torch.randint(50, (2, 5)), torch.randn(2, 5))
    drawing = torch_debugger.model_graph(Everything(), *arguments, **keywords)
    assert drawing.note == ""
    assert shown(drawing)[:3] == ["image", "tokens", "table"]
    assert shown(drawing)[-3:] == ["logits", "boxes", "features"]
    assert "not used in this run: `forgotten`" in drawing.text()


@pytest.mark.parametrize("size", [(2, 4), [(2, 4)], torch.Size([2, 4])])
def test_input_size(size) -> None:
    model, state = Residual(), torch.get_rng_state()
    drawing = model_graph(model, input_size=size)
    assert drawing.note == "" and "[2, 4]" in drawing.text()
    assert torch.equal(torch.get_rng_state(), state)
    assert model_graph(GPT(), input_size=(1, 5)).note == "", "words are tried where numbers do not fit"
    assert model_graph(Siamese(), input_size=[(1, 4), (1, 4)]).note == ""


def test_sizes_and_keywords_are_inputs_as_they_are_for_summary_and_flops() -> None:
    model = nn.Linear(4, 3)
    by_tensor = model_graph(model, torch.ones(2, 4)).text()
    assert model_graph(model, (2, 4)).text() == by_tensor
    assert model_graph(model, input=torch.ones(2, 4)).text() == by_tensor
    assert model_graph(model, input_size={"input": (2, 4)}).text() == by_tensor
    assert model_graph(Siamese(), (1, 4), (1, 4)).note == ""


def test_depth() -> None:
    drawing = model_graph(GPT(), torch.randint(20, (2, 6)), depth=1)
    assert shown(drawing) == ["idx", "wte", "wpe", "add", "h", "ln_f", "head", "output"]
    assert "h.0" in shown(drawing, depth=2) and "qkv" in shown(drawing, depth=4)
    assert "qkv" in shown(drawing, expanded=["h.0.attn"]) and "mlp" in shown(drawing, expanded=["h.0.attn"])


def test_a_model_that_cannot_be_run_shows_its_modules() -> None:
    drawing = model_graph(Residual(), torch.randn(2, 5))
    assert "mat1 and mat2 shapes cannot be multiplied" in drawing.note
    assert shown(drawing) == ["fc1", "act", "fc2"]
    assert drawing.text().splitlines()[1] == drawing.note
    assert all(module["calls"] == 0 for module in drawing.to_dict()["modules"])
    assert shown(model_graph(GPT())) and "missing" in model_graph(GPT()).note


@pytest.mark.parametrize("name", ["gpt", "everything", "siamese", "cells"])
def test_nothing_is_left_on_the_model(name: str) -> None:
    model, inputs = drawable()[name]
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    with model_untouched(model, *given):
        model_graph(model, inputs).svg()


def test_it_says_what_was_wrong_with_the_call(tmp_path: Path) -> None:
    drawing = model_graph(GPT(), torch.randint(20, (2, 6)))
    with pytest.raises(UsageError, match=r"^no module `h\.9` in this model\. There is `h"):
        drawing.svg(expanded=["h.9"])
    with pytest.raises(UsageError, match=r"takes a model, an `nn\.Module`, but got function\."):
        model_graph(lambda x: x, torch.ones(1))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="inputs or input_size, not both"):
        model_graph(Residual(), torch.ones(1, 4), input_size=(1, 4))
    with pytest.raises(UsageError, match=r"depth is at least 1, .* but got 0"):
        model_graph(Residual(), torch.ones(1, 4), depth=0)
    for wrong in ("1,4", (1, -4), [(1, 4), None]):
        with pytest.raises(UsageError, match="is no size: it is a tuple of positive whole numbers such as"):
            model_graph(Residual(), input_size=wrong)
    with pytest.raises(UsageError, match=r"saved as \.svg, .* but 'a\.gif' ends otherwise"):
        drawing.save(tmp_path / "a.gif")
    with pytest.raises(UsageError, match="make it first"):
        drawing.save(tmp_path / "nowhere" / "a.svg")
    unused = model_graph(Everything(), torch.randn(2, 3, 8, 8), torch.randint(50, (2, 5)), torch.randn(2, 5))
    with pytest.raises(UsageError, match="`forgotten` was not called in this run"):
        unused.svg(expanded="forgotten")


def test_it_is_saved(tmp_path: Path) -> None:
    drawing = model_graph(Residual(), torch.randn(2, 4))
    assert drawing.save(tmp_path / "a.svg").read_text(encoding="utf-8") == drawing.svg() == drawing._repr_svg_()
    assert drawing.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    page = drawing.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page and "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert drawing.save(tmp_path / "a.txt").read_text(encoding="utf-8") == str(drawing)
    assert repr(drawing) == "<ModelDrawing: Residual: 4 operations, 76 parameters>"
    assert drawing.picture().pixels().shape[2] == 3


def test_the_data_of_a_page_is_plain_and_the_same_each_time() -> None:
    model, inputs = GPT(), torch.randint(20, (2, 6))
    first, second = (json.dumps(model_graph(model, inputs).to_dict(), allow_nan=False) for _ in range(2))
    assert first == second
    data = json.loads(first)
    for group in data["groups"].values():
        inside = group["closed"]
        assert len(inside["places"]) == len(group["parts"]) + len(inside["words"]) + len(inside["entries"]) + len(
            inside["exits"]
        )
        assert all(part["key"] in data["groups"] for part in group["parts"] if part["opens"])
    assert data["modules"][0] == {"path": "", "class": "GPT", "parameters": 1664, "calls": 1, "detail": ""}


@pytest.mark.parametrize("name", ["u-net", "experts", "everything"])
def test_it_looks_as_it_was_looked_at(name: str) -> None:
    assert_as_looked_at(model_graph(*drawable()[name]).picture(), f"model_graph_{name}")


class Recursive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x, times=3):
        return x if times == 0 else self(self.fc(x), times - 1)


class Shared(nn.Module):
    """One module at two places, and one that belongs to another."""

    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU()
        self.a = nn.Sequential(nn.Linear(2, 2), self.act)
        self.b = nn.Sequential(nn.Linear(2, 2), self.act)
        self.c = self.a

    def forward(self, x):
        return self.c(self.b(self.a(x)))


def test_a_module_that_calls_itself() -> None:
    drawing = model_graph(Recursive(), torch.ones(1, 2))
    assert shown(drawing) == ["x", "fc", "fc", "fc", "output"]
    assert "Recursive  call 3" in drawing.text()


def test_shared_modules_are_drawn_at_each_call() -> None:
    drawing = model_graph(Shared(), torch.ones(1, 2))
    assert shown(drawing) == ["x", "a.0", "act", "b.0", "act", "a.0", "act", "output"]
    assert "ReLU, call 3" in drawing.text()


@pytest.mark.parametrize("wrapped", [torch.compile, nn.DataParallel, lambda model: model.bfloat16()])
def test_wrapped_and_half_models_look_the_same(wrapped) -> None:
    kind = torch.bfloat16 if next(wrapped(Shared()).parameters()).dtype == torch.bfloat16 else torch.float32
    given = torch.ones(1, 2, dtype=kind)
    assert shown(model_graph(wrapped(Shared()), given)) == shown(model_graph(Shared().to(kind), given))


def test_many_inputs_and_outputs_stand_together() -> None:
    class Caches(nn.Module):
        def forward(self, *cached):
            return [each * place for place, each in enumerate(cached)]

    assert shown(model_graph(Caches(), *torch.ones(30, 2)))[::31] == ["30 inputs", "30 outputs"]


def test_models_of_next_to_nothing() -> None:
    class Nothing(nn.Module):
        def forward(self, x):
            return None

    assert shown(model_graph(Nothing(), torch.ones(1))) == ["x"]
    assert shown(model_graph(nn.Linear(2, 2), torch.ones(1, 2))) == ["input", "Linear", "output"]
    assert shown(model_graph(nn.Identity(), torch.ones(1))) == ["input", "Identity", "output"]


HOSTILE = ["<script>alert(1)</script>", "a\"b'c", "</script><b>", "层_ünï", "a&amp;b", "\x1b[31m", "${x}"]


def test_names_that_mean_something_to_a_browser(tmp_path: Path) -> None:
    model = nn.Sequential()
    for name in HOSTILE:
        model.add_module(name, nn.Linear(2, 2))
    drawing = model_graph(model, torch.ones(1, 2))
    names = [name for name in shown(drawing) if name not in ("input", "output")]
    assert names == [name.replace("\x1b", "?") for name in HOSTILE]
    page = drawing.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    assert "<script>alert" not in drawing.svg() + page and "<b>" not in page
    drawing.save(tmp_path / "a.png")
    assert "\x1b" not in drawing.text() and "<script>alert(1)</script>" in drawing.text()
