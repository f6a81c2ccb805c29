# U-shaped segmentation network: find the bright square.
import torch
from torch import nn


def double_conv(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(),
        nn.Conv2d(c_out, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(),
    )


class TinyUNet(nn.Module):
    def __init__(self, channels=1):
        super().__init__()
        self.enc1 = double_conv(channels, 8)
        self.enc2 = double_conv(8, 16)
        self.down = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2)
        self.dec1 = double_conv(16 + 8, 8)
        self.final = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.down(e1))
        d1 = self.dec1(torch.cat([self.up(e2), e1], dim=1))
        return self.final(d1)


def squares(n, size=16):
    masks = torch.zeros(n, 1, size, size)
    for mask in masks:
        r, c = torch.randint(0, size - 5, (2,)).tolist()
        mask[:, r:r + 5, c:c + 5] = 1
    return masks + 0.5 * torch.randn_like(masks), masks


def main():
    torch.manual_seed(2)
    model = TinyUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.BCEWithLogitsLoss()
    for step in range(1, 101):
        images, masks = squares(8)
        loss = criterion(model(images), masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: bce {loss.item():.4f}")


if __name__ == "__main__":
    main()
