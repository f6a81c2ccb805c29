"""A dataset that refuses to be read in a worker."""
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Single(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        if get_worker_info() is not None:
            raise OSError("Cannot re-initialize CUDA in forked subprocess, said the camera")
        return torch.zeros(2)


for batch in DataLoader(Single(), batch_size=4, num_workers=1):
    print(batch.shape)
