"""A variational autoencoder that learns to draw digits, from pictures that this script makes itself."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SIZE = 14
HIDDEN = 128
LATENT = 8
BATCH = 64
EPOCHS = 10

torch.manual_seed(0)


SEGMENTS = {  # of a seven-segment digit: ends as (x, y), y downwards
    "a": ((-1, -2), (1, -2)), "b": ((1, -2), (1, 0)), "c": ((1, 0), (1, 2)), "d": ((-1, 2), (1, 2)),
    "e": ((-1, 0), (-1, 2)), "f": ((-1, -2), (-1, 0)), "g": ((-1, 0), (1, 0)),
}
DIGITS = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgecd", "abc", "abcdefg", "abfgcd"]


def draw_digits(count):
    """Digits of a pocket calculator, each a little moved, slanted and scaled, with soft strokes."""
    grid = torch.arange(SIZE) - (SIZE - 1) / 2
    shift, slant = torch.rand(2, count, 1, 1) - 0.5, torch.rand(count, 1, 1) * 0.3
    scale = 2.1 + 0.4 * torch.rand(count, 1, 1)
    y = (grid[None, :, None] - shift[1]) / scale
    x = (grid[None, None, :] - shift[0]) / scale + slant * y
    strokes = torch.stack([distance(x, y, *ends) for ends in SEGMENTS.values()])
    lit = torch.tensor([[name in digit for name in SEGMENTS] for digit in DIGITS])
    chosen = lit[torch.randint(len(DIGITS), (count,))].T[:, :, None, None]
    nearest = torch.where(chosen, strokes, 9.0).amin(0)
    return torch.sigmoid(8 * (0.32 - nearest)).flatten(1)


def distance(x, y, start, end):
    """From each point to the stroke between two ends."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    along = (((x - start[0]) * dx + (y - start[1]) * dy) / (dx * dx + dy * dy)).clamp(0, 1)
    return ((x - start[0] - along * dx) ** 2 + (y - start[1] - along * dy) ** 2).sqrt()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(SIZE * SIZE, HIDDEN)
        self.mean = nn.Linear(HIDDEN, LATENT)
        self.log_var = nn.Linear(HIDDEN, LATENT)

    def forward(self, pixels):
        hidden = F.silu(self.hidden(pixels))
        return self.mean(hidden), self.log_var(hidden)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(LATENT, HIDDEN)
        self.pixels = nn.Linear(HIDDEN, SIZE * SIZE)

    def forward(self, z):
        return self.pixels(F.silu(self.hidden(z)))


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()

    def sample(self, mean, std):
        epsilon = torch.randn(mean.shape)
        return mean + std * epsilon

    def forward(self, pixels):
        mean, log_var = self.encoder(pixels)
        z = self.sample(mean, torch.exp(0.5 * log_var))
        return self.decoder(z), mean, log_var


def loss_of(scores, pixels, mean, log_var):
    drawing = F.binary_cross_entropy_with_logits(scores, pixels, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
    return (drawing + divergence) / len(pixels)


def save_grid(pixels, path, columns=8, scale=5, gap=2):
    """Pictures side by side, each enlarged so that the eye can see it."""
    side, step = SIZE * scale, SIZE * scale + gap
    rows = len(pixels) // columns
    sheet = Image.new("L", (columns * step + gap, rows * step + gap), 60)
    for index, picture in enumerate(pixels[: rows * columns]):
        values = (picture.view(SIZE, SIZE) * 255).byte().cpu().numpy()
        tile = Image.fromarray(values).resize((side, side), Image.NEAREST)
        sheet.paste(tile, (gap + index % columns * step, gap + index // columns * step))
    sheet.save(path)


data = draw_digits(4096)
loader = DataLoader(TensorDataset(data), batch_size=BATCH, shuffle=True, drop_last=True)
model = VAE().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(EPOCHS):
    total = 0.0
    for (pixels,) in loader:
        pixels = pixels.to(DEVICE)
        scores, mean, log_var = model(pixels)
        loss = loss_of(scores, pixels, mean, log_var)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1:2d}  loss {total / len(loader):.2f}")

model.eval()
with torch.no_grad():
    originals = draw_digits(32).to(DEVICE)
    redrawn = torch.sigmoid(model.decoder(model.encoder(originals)[0]))
    drawn = torch.sigmoid(model.decoder(torch.randn(32, LATENT, device=DEVICE)))
save_grid(originals, "orig_data.png")
save_grid(redrawn, "reconstructions.png")
save_grid(drawn, "generated_samples.png")
