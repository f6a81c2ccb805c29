"""What a real GPU's crashes were told to be: the kept results hold what each script was written for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gpu.run_all import all_scripts, name_of
from tests.zoo.scripts import expected_of, gpu_scripts

GOLDEN = Path(__file__).parent / "golden"
RESULTS: dict[str, dict[str, Any]] = json.loads((GOLDEN / "results.json").read_text())
# script -> the check, the line to look at, and a word of the fix
EXPECTED = {
    "input_left_on_cpu": ("device-mismatch", 15, "net(images.to(device))"),
    "model_left_on_cpu": ("device-mismatch", 19, "Net().to(device)"),
    "target_left_on_cpu": ("device-mismatch", 19, "targets.to(device)"),
    "mask_left_on_cpu": ("device-mismatch", 10, "register_buffer"),
    "index_left_on_gpu": ("device-mismatch", 13, "device=tokens.device"),
    "optimizer_state_left_on_cpu": ("device-mismatch", 16, "before the optimizer"),
    "numpy_on_gpu": ("device-mismatch", 12, ".cpu().numpy()"),
    "ordinal_too_high": ("device-mismatch", 6, "cuda:0"),
    "batch_too_large": ("out-of-memory", 15, "Use a batch of at most"),
    "losses_kept": ("out-of-memory", 18, "losses.append(loss.item())"),
    "outputs_kept": ("out-of-memory", 13, ".detach().cpu()"),
    "embedding_too_small": ("device-side-assert", 17, "nn.Embedding(1001, 32)"),
    "labels_too_high": ("device-side-assert", 18, "from 0"),
    "labels_made_on_gpu": ("device-side-assert", 14, "CUDA_LAUNCH_BLOCKING=1"),
    "cuda_in_worker": ("cuda-in-forked-worker", 17, ".to(device)"),
    "library_without_room": ("cuda-kernel-error", 15, "smaller batch"),
}

# script -> the line of the first NaN or Inf, and what the message calls its origin
NOT_FINITE = {
    "nan_linear_in_half": (17, "`linear` in `model.0`"),
    "nan_square_in_half": (17, "`h * h`"),
    "nan_in_half_model": (11, "`x.square()`"),
    "nan_log_in_bfloat16": (13, "`torch.log(1 - p)`"),
    "nan_only_in_backward": (11, "the backward of"),
    "nan_from_loader": (24, "1 of 384 values of `x` is NaN"),
    "nan_late": (11, "made the first nan"),
}


def test_every_script_was_run() -> None:
    assert set(RESULTS) == {name_of(script) for script in all_scripts()}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_crash_is_told(name: str) -> None:
    check, line, word = EXPECTED[name]
    result = RESULTS[name]
    assert [finding["name"] for finding in result["findings"]] == [check]
    assert result["outcome"] == "crashed" and result["probes_removed"] == []
    assert result["findings"][0]["line"] == line
    assert word in result["findings"][0]["fix"]


@pytest.mark.parametrize("name", NOT_FINITE)
def test_the_origin_of_a_nan_is_told_some_steps_late(name: str) -> None:
    line, origin = NOT_FINITE[name]
    result = RESULTS[name]
    assert (result["outcome"], result["probes_removed"]) == ("finished", [])
    [finding] = [each for each in result["findings"] if each["name"] == result["verdict"]]
    assert (finding["name"], finding["line"]) == ("loss-not-finite", line)
    assert origin in finding["message"]


@pytest.mark.parametrize("script", gpu_scripts(), ids=name_of)
def test_the_zoo_of_the_gpu(script: Path) -> None:
    expected, result = expected_of(script), RESULTS[name_of(script)]
    assert [finding["name"] for finding in result["findings"]] == [expected.check]
    assert result["findings"][0]["line"] in expected.lines
    assert any(word in result["findings"][0]["fix"].lower() for word in expected.mentions)


def test_the_printed_words_are_those_of_the_results() -> None:
    printed = (GOLDEN / "printed.txt").read_text()
    blocks = dict(block.split("\n", 1) for block in printed.split("=== ")[1:])
    for name, result in RESULTS.items():
        words = " ".join(blocks[name].split())
        assert result["findings"][0]["message"].split(":")[0].split(",")[0] in words, name
