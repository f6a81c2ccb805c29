"""TD904: tensors on two devices, or a device that is not there."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.devices.device_absent import explain_absent_device
from torch_debugger.checks.explainers.devices.device_host import explain_host_copy
from torch_debugger.checks.explainers.devices.device_mixes import explain_mixed_devices


class DeviceMismatch(CrashCheck):
    """Tensors of two devices met in one operation, or a device was asked for that is not there.

    Symptom:
        The script stops with "Expected all tensors to be on the same device", "Tensor on device cpu is not
        on the expected device", "can't convert cuda:0 device type tensor to numpy", "Torch not compiled
        with CUDA enabled", or "invalid device ordinal".
    Evidence:
        The devices of the tensors that met: a layer's weights and inputs, the operands of your line, an
        optimizer's state. The odd one is followed by its identity to the frame that brought it in and to
        the statement that made it. For an absent device: the accelerators this machine has, and the line
        that names the device.
    Fix:
        Make the tensor where the others are (`device=x.device`), move it once (`.to(device)`), or register
        it in the module that owns it (`register_buffer`), so that it moves along. The line is filled in.
    Known limits:
        The accelerator is taken for the right device and the CPU for the wrong one. A temporary without a
        name is told by its place in the call.
    """

    id = "TD904"
    name = "device-mismatch"
    title = "tensors on two devices, or a device that is not there"
    explainers = (explain_mixed_devices, explain_host_copy, explain_absent_device)
