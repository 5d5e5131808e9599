"""test_memory.py - a project that holds its training step to a limit, and to what it took before."""
import pytest

GIB = 1 << 30


def training_step(batch):
    """The events of a step: weights, activations of a batch, gradients."""
    yield {'op': 'alloc', 'id': 'weights', 'size': GIB}
    yield {'op': 'alloc', 'id': 'activations', 'size': batch * GIB // 4}
    yield {'op': 'alloc', 'id': 'gradients', 'size': GIB}
    yield {'op': 'free', 'id': 'activations'}
    yield {'op': 'free', 'id': 'gradients'}


@pytest.mark.gpu_memory('peak.reserved < 5GiB', policy='pytorch', device='24GiB')
def test_training_step(gpu_memory_trace, batch):
    gpu_memory_trace(training_step(batch))


@pytest.mark.gpu_memory('oom == 0', device='rtx-4090')
def test_card(gpu_memory_trace):
    gpu_memory_trace(training_step(8))
