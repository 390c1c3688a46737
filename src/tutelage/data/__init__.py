"""Images and sentences to learn from: fetched once, checked always, kept in one folder."""

from tutelage.data.augmentation import shifted_and_flipped
from tutelage.data.blobs import blobs
from tutelage.data.cache import cache_folder, load_images
from tutelage.data.fetch import fetch
from tutelage.data.folders import image_folder
from tutelage.data.images import Images, digest
from tutelage.data.sentences import film_talk, read_sentences
from tutelage.data.sets import DATASETS, Dataset

__all__ = [
    "DATASETS",
    "Dataset",
    "Images",
    "blobs",
    "cache_folder",
    "digest",
    "fetch",
    "film_talk",
    "image_folder",
    "load_images",
    "read_sentences",
    "shifted_and_flipped",
]
