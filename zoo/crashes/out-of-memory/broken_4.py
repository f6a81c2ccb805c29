"""Autoencoder for colour images."""
import torch
import torch.nn as nn


class AutoEncoder(nn.Module):
    def __init__(self, size, code):
        super().__init__()
        pixels = 3 * size * size
        self.encode = nn.Linear(pixels, pixels)
        self.shrink = nn.Linear(pixels, code)
        self.decode = nn.Linear(code, pixels)

    def forward(self, images):
        flat = images.flatten(1)
        hidden = torch.tanh(self.encode(flat))
        return self.decode(self.shrink(hidden)).view_as(images)


torch.manual_seed(0)
net = AutoEncoder(size=512, code=4)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-2)
images = torch.rand(2, 3, 512, 512)
for step in range(8):
    loss = nn.functional.mse_loss(net(images), images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 0:
        print(step, round(loss.item(), 4))
