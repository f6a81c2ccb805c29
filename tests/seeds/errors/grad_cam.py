"""Grad-CAM from hooks, and ours with the same call and the same map."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from torch_debugger import pictures


class HookedCam:
    def __init__(self, net, path):
        self.net = net
        layer = dict(net.named_modules())[path]
        layer.register_forward_hook(self.keep_maps)
        layer.register_full_backward_hook(self.keep_slopes)

    def keep_maps(self, module, inputs, output):
        self.maps = output.detach()

    def keep_slopes(self, module, grad_input, grad_output):
        self.slopes = grad_output[0].detach()

    def generate_cam(self, images, wanted=None):
        self.net.eval()
        scores = self.net(images)
        wanted = scores.argmax(1) if wanted is None else wanted
        self.net.zero_grad()
        scores[0, wanted].backward()
        shares = self.slopes[0].mean((1, 2))
        cam = F.relu((shares[:, None, None] * self.maps[0]).sum(0))
        return ((cam - cam.min()) / (cam.max() - cam.min() + 1e-8)).numpy()


class Spotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU())
        self.last = nn.Conv2d(6, 10, 3)
        self.decide = nn.Linear(10, 4)

    def forward(self, images):
        return self.decide(F.relu(self.last(self.features(images))).mean((2, 3)))


torch.manual_seed(43)
net, image = Spotter(), torch.rand(1, 3, 20, 20)
ours = pictures.GradCAM(net, target_layer="last").generate_cam(image, target_class=2)
theirs = HookedCam(net, "last").generate_cam(image, 2)
print(theirs.shape, np.shape(ours))
pictures.gradcam(net, image).save("cam.png")
