"""The scenes of the live page, one file each."""

from tutelage.discover import import_all
from tutelage.studio.scenes.scene import SCENES, scene

import_all(__name__, __path__)

__all__ = ["SCENES", "scene"]
