"""All of the device's memory is taken before the first product."""
import torch

free, total = torch.cuda.mem_get_info()
held = []
size = 2**30
while True:
    try:
        held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        if size < 2**22:
            break
        size //= 2
a = held[-1][: 2**20].view(torch.float32).view(512, 512)
print((a @ a).sum())
