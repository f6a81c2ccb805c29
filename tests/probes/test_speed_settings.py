from __future__ import annotations

import pytest
import torch

from torch_debugger.probes.speed import read_settings


def settings_of_a_script_in_anomaly_mode() -> tuple[bool, str | None]:
    with torch.autograd.detect_anomaly(check_nan=False):
        found = read_settings(4, on_cuda=False)
    return found.anomaly_mode, found.anomaly_at.code


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_the_line_that_switches_anomaly_mode_on_is_told() -> None:
    is_on, code = settings_of_a_script_in_anomaly_mode()
    assert is_on
    assert code == "with torch.autograd.detect_anomaly(check_nan=False):"
    assert not read_settings(4, on_cuda=False).anomaly_mode
