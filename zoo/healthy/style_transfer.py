"""Style transfer in miniature: change an image until a fixed network's features match."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)


def gram(features):
    b, c, h, w = features.shape
    flat = features.view(b * c, h * w)
    return flat @ flat.t() / (h * w)


cnn = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 16, 3, padding=1), nn.ReLU())
cnn.eval()
cnn.requires_grad_(False)

ramp = torch.linspace(0, 1, 20)
content = torch.stack([ramp.expand(20, 20), ramp.expand(20, 20).t(), torch.full((20, 20), 0.5)]).unsqueeze(0)
style = (torch.rand(1, 3, 20, 20) > 0.5).float()
content_target, style_target = cnn(content), gram(cnn(style))

canvas = content.clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([canvas], max_iter=5)
run = 0
while run < 20:

    def closure():
        optimizer.zero_grad()
        features = cnn(canvas)
        loss = 10 * F.mse_loss(features, content_target) + 1e4 * F.mse_loss(gram(features), style_target)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    run += 1
    if run % 5 == 0 or run == 1:
        print(f"run {run}: loss {loss.item():.6f}")
