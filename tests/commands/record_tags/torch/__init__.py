"""A stand-in for torch: tensors that have a storage, and one operator that a mode sees."""
import types

__version__ = "0.stand-in"
modes = []


class Storage:
    def __init__(self, size):
        self.size = size

    def nbytes(self):
        return self.size


class Tensor:
    def __init__(self, size):
        self.device, self.storage = device("cpu"), Storage(size)

    def untyped_storage(self):
        return self.storage


class device:
    def __init__(self, name):
        self.type, self.index = name, None


class Operator:
    def __init__(self, name, kernel):
        self.name, self.kernel = name, kernel

    def __call__(self, *args):
        return self.kernel(*args)

    def __str__(self):
        return self.name


EMPTY = Operator("aten.empty.default", Tensor)
cuda = types.SimpleNamespace(empty_cache=lambda: None)


def empty(size):
    """As in torch, the mode is called from a frame that is torch's own."""
    for mode in modes:
        return mode.__torch_dispatch__(EMPTY, (), (size,))
    return EMPTY(size)
