import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
class Clips(Dataset):
    def __init__(self): self.n = [5]*20 + [6] + [5]*10
    def __len__(self): return len(self.n)
    def __getitem__(self, i): return torch.rand(self.n[i], 3)
for b in DataLoader(Clips(), batch_size=4, num_workers=1):
    pass
