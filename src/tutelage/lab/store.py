"""The store: one folder per experiment, named by its hash, complete or absent."""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tutelage.discover import import_from_subjects
from tutelage.errors import TutelageError
from tutelage.files import at_work, sync_folder, write_atomically
from tutelage.lab.experiment import Experiment, find, to_yaml
from tutelage.lab.manifest import (
    MANIFEST,
    SETTINGS,
    Damage,
    Manifest,
    check_settings,
    compose,
    is_result,
    readable,
    verify,
)


class Store:
    """A folder of results, one folder per experiment under its hash, complete or absent.

    An interrupted write leaves only a folder whose name ends in ``.part``.

    Parameters
    ----------
    root
        The folder; it is made when the first result is stored.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        with self._writing():
            self.root.mkdir(parents=True, exist_ok=True)

    def check_writable(self) -> None:
        """Raise an error where nothing can be stored, before hours are spent on what would be."""
        with self._writing():
            probe = self.root / f".probe-{secrets.token_hex(4)}"
            probe.touch()
            probe.unlink()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TutelageError(
                f"{self.root} cannot be written ({error.strerror}): choose another folder with --results"
            ) from None

    def __contains__(self, experiment: Experiment) -> bool:
        return is_result(self.folder(experiment))

    def folder(self, experiment: Experiment) -> Path:
        return self.root / experiment.hash

    def scratch(self) -> Path:
        """The folder for checkpoints of experiments at work."""
        return self.root / ".checkpoints"

    def save(self, experiment: Experiment, files: Mapping[str, bytes], log: Mapping[str, Any]) -> Any:
        """Write results whole: into a folder of another name, synced, then renamed."""
        final = self.folder(experiment)
        part = self.root / f".{experiment.hash}.{secrets.token_hex(4)}.part"
        try:
            # The manifest comes last, since it has the checksum of every other file; the name comes after it. So a
            # folder with a hash for its name is whole, and an interrupted write leaves a name that nobody reads.
            with at_work(part):
                write_atomically(part / SETTINGS, to_yaml(experiment, defaults=True))
                write_atomically(part / "log.jsonl", json.dumps(log) + "\n")
                for name, content in files.items():
                    write_atomically(part / name, content)
                write_atomically(part / MANIFEST, compose(experiment, part, log))
                land(part, final)
        except OSError as error:
            shutil.rmtree(part, ignore_errors=True)
            raise TutelageError(
                f"{final} cannot be written ({error.strerror}): free some space or use --results"
            ) from None
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        return experiment.decode(final)

    def load(self, experiment: Experiment) -> Any:
        """Read results back; a file that is missing or does not match its checksum raises an error by name."""
        return self.load_from(self.folder(experiment), experiment)

    @staticmethod
    def load_from(folder: Path, experiment: Experiment) -> Any:
        """The same from a folder of any name."""
        verify(folder, experiment.hash)
        return experiment.decode(folder)


def load_result(folder: Path) -> Any:
    """Load the result in a folder; nothing is written there.

    Parameters
    ----------
    folder
        Folder of one result in a store.

    Returns
    -------
    Result
        Of the class that the experiment's kind uses, such as :class:`TrainedStudents`.

    Examples
    --------
    >>> import tempfile
    >>> import tutelage as tt
    >>> experiment = tt.TeacherStudent(
    ...     teacher={"kind": "levels", "inputs": 5, "hidden": 3, "outputs": 2},
    ...     student={"kind": "small-normal"}, inputs={"kind": "gaussian", "train": 50, "evaluate": 20},
    ...     training={"steps": 100}, seeds=2,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = tt.run(experiment, results=folder)
    ...     again = load_result(result.folder)
    >>> again.experiment == experiment
    True
    """
    manifest = verify(folder)
    check_settings(folder, manifest)
    with readable(folder, MANIFEST):
        experiment = experiment_of(manifest)
    return experiment.decode(folder)


def experiment_of(manifest: Manifest) -> Experiment:
    """The experiment whose results a manifest describes."""
    about = manifest.settings
    if about["kind"] not in Experiment.kinds:
        import_from_subjects("studies")  # they define the kinds
    return find(about["kind"])(**about["settings"])


def land(part: Path, final: Path) -> bool:
    """Give a finished folder its final name at one stroke; False where another writer was first, with the same result.

    Whoever reads the store finds the whole folder or none; of two writers at once one is first, the other gives way.
    """
    sync_folder(part)
    try:
        os.rename(part, final)
    except OSError:
        if not is_result(final):
            raise
        shutil.rmtree(part)
        return False
    sync_folder(final.parent)
    return True


def set_aside(folder: Path, look: Callable[[Path], object]) -> Path | None:
    """Take a damaged result its name, so that it can be written again; None where another run was first.

    Of two runs that find the same damage one may set aside what the other has computed anew in the meantime. So what
    was set aside is looked at again, with ``look``, which raises `Damage`, and gets its name back if it is whole.
    """
    aside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.damaged")
    try:
        os.rename(folder, aside)
    except FileNotFoundError:
        return None
    try:
        look(aside)
    except Damage:
        return aside
    land(aside, folder)
    return None
