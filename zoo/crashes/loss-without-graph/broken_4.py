"""Segmentation of bright squares, scored by intersection over union."""
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)


def make_batch(n):
    masks = torch.zeros(n, 1, 12, 12)
    for i in range(n):
        top, left = torch.randint(0, 6, (2,)).tolist()
        masks[i, :, top : top + 6, left : left + 6] = 1.0
    return masks + 0.4 * torch.randn(n, 1, 12, 12), masks


def iou_loss(logits, masks):
    found = (logits > 0).float()
    overlap = (found * masks).sum()
    union = found.sum() + masks.sum() - overlap
    return 1 - overlap / union


for step in range(80):
    images, masks = make_batch(16)
    logits = net(images)
    loss = iou_loss(logits, masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}")
