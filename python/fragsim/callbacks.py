"""callbacks.py - fragsim.watch() where a trainer begins.

    lightning.Trainer(callbacks=[fragsim.callbacks.lightning()])
    transformers.Trainer(..., callbacks=[fragsim.callbacks.transformers()])
    accelerate.Accelerator(log_with=fragsim.callbacks.accelerate())

Each function imports its framework and returns what that takes. The arguments are those of
fragsim.watch(). A program may call that itself instead, before it makes its model: what was allocated
before the trainer begins has no history otherwise.
"""
from __future__ import annotations

from typing import Any

from ._watching import watch

__all__ = ["accelerate", "lightning", "transformers"]


def lightning(name: str = "oom", **options: Any) -> Any:
    """A Callback of Lightning, which watches from the set-up of each fit, validation and test on."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback  # type: ignore[import-not-found, no-redef]

    class Watch(Callback):  # type: ignore[misc]
        def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
            watch(name, **options)
    return Watch()


def transformers(name: str = "oom", **options: Any) -> Any:
    """A TrainerCallback of transformers, which watches from the end of the Trainer's own set-up on."""
    from transformers import TrainerCallback  # type: ignore[import-not-found]

    class Watch(TrainerCallback):  # type: ignore[misc]
        def on_init_end(self, args: Any, state: Any, control: Any, **_more: Any) -> None:
            watch(name, **options)
    return Watch()


def accelerate(name: str = "oom", **options: Any) -> Any:
    """A GeneralTracker of accelerate, which watches from now on, and logs nothing."""
    from accelerate.tracking import GeneralTracker  # type: ignore[import-not-found]

    class Watch(GeneralTracker):  # type: ignore[misc]
        name = "fragsim"
        requires_logging_directory = False
        main_process_only = False
        tracker = None

        def store_init_configuration(self, values: Any) -> None:
            pass

        def log(self, values: Any, step: int | None = None, **_more: Any) -> None:
            pass
    watch(name, **options)
    return Watch(_blank=True)
