"""Records what the `grad-cam` package gives for the cases of tests/pictures/cam_cases.py.

    pip install grad-cam        # into an environment of its own: it brings OpenCV, scikit-learn and torchvision
    PYTHONPATH=. python tools/record_grad_cam.py

Written by grad-cam 1.5.7 with OpenCV 5.0.0, numpy 2 and torch 2.13 on a CPU. torchvision is only imported by
it; where there is no build of it, modules with the names it imports do. The tests compare with the file, so
that nobody needs the package to run them; the sign of the eigen methods is that of numpy's SVD on the machine.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytorch_grad_cam as peer
import torch

from tests.pictures.cam_cases import CASES, RECORDED, Case, segment

METHODS = {
    "gradcam": peer.GradCAM,
    "gradcam++": peer.GradCAMPlusPlus,
    "xgradcam": peer.XGradCAM,
    "layercam": peer.LayerCAM,
    "hirescam": peer.HiResCAM,
    "gradcam_elementwise": peer.GradCAMElementWise,
    "eigencam": peer.EigenCAM,
    "eigengradcam": peer.EigenGradCAM,
    "scorecam": peer.ScoreCAM,
    "ablationcam": peer.AblationCAM,
    "fullgrad": peer.FullGrad,
}


def record(name: str, case: Case, method: str) -> np.ndarray[Any, Any]:
    model = case.model()
    layers = [] if method == "fullgrad" else [model.get_submodule(path) for path in case.layers]
    targets: Any = None
    if name == "segmentation":
        targets = [segment, segment]
    elif case.targets is not None:
        targets = [peer.utils.model_targets.ClassifierOutputTarget(each) for each in case.targets]
    cam = METHODS[method](model, layers, reshape_transform=case.grid)
    return np.asarray(cam(case.images(), targets), dtype=np.float32)


def guided(case: Case) -> np.ndarray[Any, Any]:
    """[channels, height, width] of the first image, for class 1."""
    model = peer.GuidedBackpropReLUModel(copy.deepcopy(case.model()))
    return np.moveaxis(model(case.images()[:1], 1), 2, 0).astype(np.float32)


def main() -> None:
    torch.set_num_threads(1)
    found = {f"{name}/{method}": record(name, case, method) for name, case in CASES.items() for method in case.methods}
    found["convolutional/guided_backprop"] = guided(CASES["convolutional"])
    RECORDED.parent.mkdir(exist_ok=True)
    np.savez_compressed(RECORDED, **found)
    print(f"{len(found)} arrays in {RECORDED.name}, {RECORDED.stat().st_size} bytes")


if __name__ == "__main__":
    main()
