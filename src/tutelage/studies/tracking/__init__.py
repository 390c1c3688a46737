"""Runs told to MLflow or TensorBoard as they are finished."""

from tutelage.discover import import_all
from tutelage.studies.tracking.tracker import open_tracker, tracker

import_all(__name__, __path__)

__all__ = ["open_tracker", "tracker"]
