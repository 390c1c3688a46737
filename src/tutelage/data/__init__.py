"""Images and sentences to learn from: fetched once, checked always, kept in one folder."""

from tutelage.data.cache import load_images
from tutelage.data.fetch import fetch
from tutelage.data.folders import image_folder
from tutelage.data.images import Images
from tutelage.data.sentences import film_talk, read_sentences

__all__ = [
    "Images",
    "fetch",
    "film_talk",
    "image_folder",
    "load_images",
    "read_sentences",
]
