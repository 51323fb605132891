"""A person's own Dataset, built and asked: with generators that are seeded for each sample, and nothing of the program's changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from torch.utils.data import IterableDataset

from training.config.rules.signature import FUNCTION, Signature
from training.core.own.returned import describe_kind
from training.core.own.sample_draws import draw_apart, seed_sample
from training.errors import InputError
from training.own_code.run_file import explain_faults, run_file, tell_fault
from training.own_code.torch_modes import preserve_modes
from training.system.untrusted import escape_unprintable

COLLATE = "collate_fn"
SPLITS = ("train", "validation")


@dataclass(kw_only=True)
class Building:
    """The file, run, and the Datasets that its ``build`` returns, in this process. Sent to others by pickle, which run the file
    again."""

    path: str
    signature: Signature
    arguments: dict[str, Any]
    image: bool
    seed: int
    """Of the run: what training samples are drawn by."""
    fixed_seed: int
    """What those are drawn by that are always the same, and the building of the Dataset."""
    lengths: dict[str, int] = field(default_factory=dict)
    _module: ModuleType | None = None
    _datasets: dict[str, Any] = field(default_factory=dict)

    @property
    def collate(self) -> Callable[[list[Any]], Any] | None:
        """The file's own function that makes a batch of samples."""
        found: Callable[[list[Any]], Any] | None = getattr(self._run(), COLLATE, None)
        return found

    def values(self, named: Sequence[tuple[str, int]], epoch: int) -> list[Any]:
        """What ``__getitem__`` returns for each (split, index) in the ``epoch`` of a key."""
        found = []
        with at_peace(Path(self.path)):
            for split in dict.fromkeys(split for split, _ in named):
                self._check_length(split)
            for split, index in named:
                dataset = self.dataset(split)
                self.seed_for(split, index, epoch)
                try:
                    found.append(dataset[index])
                except Exception as error:
                    told = tell_fault(error, Path(self.path), f"sample {index} of {split}")
                    raise InputError(f"{told} Correct the file.") from error
        return found

    def dataset(self, split: str) -> Any:
        """The Dataset of ``split``, None where the file has none for validation. Raises InputError for what is none."""
        if split not in self._datasets:
            module = self._run()
            with at_peace(Path(self.path)):
                self.seed_for(split, -1, 0)
                with explain_faults(Path(self.path), f"cannot build the {split} Dataset"):
                    made = getattr(module, FUNCTION)(split=split, **self.arguments)
                    self._require_dataset(made, split)
            self._datasets[split] = made
            self.after_building(split)
        return self._datasets[split]

    def after_building(self, split: str) -> None:
        """Called once the Dataset of ``split`` is there."""

    def _require_dataset(self, made: Any, split: str) -> None:
        path = escape_unprintable(self.path)
        if made is None and split == "validation":
            return
        if isinstance(made, IterableDataset):
            raise InputError(
                f"{path}: the {split} Dataset is an IterableDataset, whose samples have no number, so no run could be resumed exactly; give it "
                "__getitem__(index) and __len__() instead."
            )
        if not hasattr(type(made), "__getitem__"):
            raise InputError(
                f"{path}: {FUNCTION} returns {describe_kind(made)} for {split}, no torch Dataset; return one with __getitem__ and __len__."
            )
        if not hasattr(type(made), "__len__"):
            raise InputError(
                f"{path}: the {split} Dataset has no length; give it __len__(), which returns how many samples there are."
            )
        if not len(made):
            raise InputError(f"{path}: the {split} Dataset is empty; give it samples.")

    def _check_length(self, split: str) -> None:
        dataset = self.dataset(split)
        known = self.lengths.get(split)
        with explain_faults(Path(self.path), f"len() of the {split} Dataset"):
            now = len(dataset)
        if known is not None and now != known:
            raise InputError(
                f"{escape_unprintable(self.path)}: the {split} Dataset has a length of {now:,} now, but of {known:,} before; its length must not change."
            )

    def _run(self) -> ModuleType:
        if self._module is None:
            with at_peace(Path(self.path)):
                self.seed_for("", -3, 0)
                self._module = run_file(self.signature, Path(self.path))
        return self._module

    def seed_for(self, split: str, index: int, epoch: int) -> None:
        """Let all three generators draw what follows from the sample, and from seed and epoch where it trains."""
        which = f"{self.seed} {epoch - 1}" if epoch else f"fixed {self.fixed_seed}"
        seed_sample(which, split, index)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_module": None, "_datasets": {}}


@contextmanager
def at_peace(path: Path) -> Iterator[None]:
    """Inside, code of the person's runs on one thread, so that its sums round alike in any process; afterwards torch's modes and all
    generators are as they were."""
    with preserve_modes(path), draw_apart():
        yield
