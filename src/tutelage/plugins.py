"""Plugins: a measure, activation, teacher, student, distribution, schedule, experiment, study or theorem of a user.

A plugin is a Python file that uses the same decorators and base classes as the package. It is named on the command
line (``--with FILE.py``) or loaded with :func:`load_plugin`, never named inside an experiment: experiments cannot run
code.

Results computed with a plugin never stand in for others: the digest of the file enters the hash of every experiment
that uses a kind or a measure the file registers. So a change of the file, were it of a comment, makes new results;
experiments that use nothing of it keep their hash. The digest covers that one file: what decides a result belongs
inside it.
"""

import hashlib
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tutelage.errors import TutelageError
from tutelage.measures.registry import MEASURES
from tutelage.networks.activations import ACTIVATIONS, Activation, registered_by_user
from tutelage.settings import Recipe, Settings, one_line


@dataclass(frozen=True)
class Plugin:
    """A loaded file: where it lay, what it held, the digest of that, and what it registered ("teacher orthogonal")."""

    path: Path
    source: bytes = field(repr=False)
    digest: str
    names: tuple[str, ...]


PLUGINS: dict[str, Plugin] = {}
"""Plugins of this process by digest; a worker is sent their sources and loads them before it reads an experiment."""

_ORIGINS: dict[Any, str] = {}  # from a registered class or measure to the digest of its plugin


def load_plugin(path: str | Path) -> Plugin:
    """Run a file once, under a module name of its own, and register what it holds: all of it, or nothing."""
    try:
        return load_source(Path(path).read_bytes(), path)
    except OSError as error:
        raise TutelageError(f"{path} cannot be read ({error.strerror})") from None


def load_source(source: bytes, path: str | Path) -> Plugin:
    """The same for what a file held, on a machine that may not have it; ``path`` is its name in sentences."""
    path = Path(path)
    digest = hashlib.sha256(source).hexdigest()[:16]
    if digest in PLUGINS:
        return PLUGINS[digest]
    before = _registered()
    try:
        _run(path, source, f"_tutelage_plugin_{digest}")
        new = _new(path, before)
    except BaseException:
        _restore(before)
        sys.modules.pop(f"_tutelage_plugin_{digest}", None)
        raise
    _ORIGINS.update((thing, digest) for thing in new.values())
    PLUGINS[digest] = Plugin(path, source, digest, tuple(new))
    return PLUGINS[digest]


_CODE = {
    "PlantedMethod": ("method", "tutelage.planted.evaluate"),
    "OwnRule": ("rule", "tutelage.train"),
    "OwnGradient": ("gradient", "tutelage.train"),
    "OwnLoss": ("loss", "tutelage.train"),
    "OwnCurriculum": ("curriculum", "tutelage.train"),
}
"""Classes of registered functions: what they are called, and what runs them without storing anything."""


def used_by(settings: Settings) -> list[str]:
    """Digests of the plugins that settings come from, at any depth, in order; none for what the package has itself."""
    things = list(_things(settings))
    for thing in things:
        word, instead = _CODE.get(type(thing).__name__, ("", ""))
        if word and thing not in _ORIGINS and not _of_the_package(thing):
            raise TutelageError(
                f"the {word} '{thing.name}' comes from no plugin file, so what it does cannot enter the hash of an "
                f"experiment: put it into a file and give that with --with, or use {instead}"
            )
    for thing in things:
        if isinstance(thing, Activation) and thing not in _ORIGINS and registered_by_user(thing.name):
            raise TutelageError(
                f"the activation '{thing.name}' comes from no plugin file, so what it does cannot enter the hash of "
                "an experiment: put it into a file and load that with tutelage.plugins.load_plugin or --with"
            )
    return sorted({_ORIGINS[thing] for thing in things if thing in _ORIGINS})


def _things(settings: Settings) -> Iterator[Any]:
    """Classes, measures and methods that settings name, at any depth."""
    yield from type(settings).__mro__
    yield from getattr(settings, "uses", tuple)()
    for name, value in settings:
        for entry in value if isinstance(value, tuple) else (value,):
            if isinstance(entry, Settings):
                yield from _things(entry)
            elif name == "measures" and entry in MEASURES:
                yield MEASURES[entry]
            elif name in ("activation", "fold") and entry in ACTIVATIONS:
                yield ACTIVATIONS[entry]


def describe(used: Iterable[str]) -> list[str]:
    """Name and digest of plugins, for people."""
    return [f"{PLUGINS[digest].path.name} (digest {digest})" for digest in used]


def _run(path: Path, source: bytes, name: str) -> None:
    """Run the source as a module; whatever it raises becomes one sentence with the line it came from."""
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except SyntaxError as error:
        raise TutelageError(one_line(f"{path} has a syntax error at line {error.lineno}: {error.msg}")) from None
    except (Exception, SystemExit) as error:
        raise _failure(path, error) from None


@contextmanager
def blamed() -> Iterator[None]:
    """Whatever goes wrong inside in a line of a plugin becomes one sentence with its file and line."""
    try:
        yield
    except TutelageError:
        raise
    except Exception as error:
        if (failure := plugin_failure(error)) is not None:
            raise failure from None
        raise


def plugin_failure(error: BaseException) -> TutelageError | None:
    """The sentence for an error that came through a line of a plugin, None where none did."""
    met = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    return next((_failure(p.path, error) for p in PLUGINS.values() if str(p.path) in met), None)


def _failure(path: Path, error: BaseException) -> TutelageError:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    where = f" at line {lines[-1]}" if lines else ""
    return TutelageError(
        one_line(f"{path} fails{where} ({type(error).__name__}: {error}): fix the plugin and run again")
    )


def _families() -> list[type[Recipe]]:
    """What has kinds: teachers, students, distributions, schedules."""
    return [family for family in Recipe.__subclasses__() if not family.__module__.startswith("_tutelage_plugin_")]


def _registries() -> dict[str, dict[str, Any]]:
    """Every registry a plugin may add to, under the word that says what it holds.

    Studies and theorems are there once they were imported, which a plugin that adds to them does.
    """
    out: dict[str, dict[str, Any]] = {"measure": MEASURES, "activation": ACTIVATIONS}
    out |= {family.__name__.lower(): family.kinds for family in _families()}
    for word, module, name in _FURTHER:
        if module in sys.modules:
            out[word] = getattr(sys.modules[module], name)
    return out


_FURTHER = (
    ("experiment", "tutelage.lab.experiment", "KINDS"),
    ("study", "tutelage.studies.study", "STUDIES"),
    ("theorem", "tutelage.certificates.registry", "THEOREMS"),
    ("method", "tutelage.planted.registry", "METHODS"),
    ("rule", "tutelage.training.rules", "RULES"),
    ("gradient", "tutelage.training.gradients", "GRADIENTS"),
    ("loss", "tutelage.training.losses", "LOSSES"),
    ("curriculum", "tutelage.training.curricula", "CURRICULA"),
)


def _registered() -> dict[str, dict[str, Any]]:
    return {word: dict(registry) for word, registry in _registries().items()}


def _restore(before: dict[str, dict[str, Any]]) -> None:
    for word, registry in _registries().items():
        for name, thing in list(registry.items()):
            if not _of_the_package(thing):
                del registry[name]
        registry.update(before.get(word, {}))


def _of_the_package(thing: Any) -> bool:
    """Whether a class or measure is the package's own, though it may be that the plugin was first to import it."""
    where = getattr(thing, "function", None) or getattr(thing, "plan", None) or thing
    return where.__module__.startswith("tutelage.")


def _new(path: Path, before: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What was added to the registries, by name; an error where it replaces something, is unfinished, or is nothing."""
    new = {}
    for word, registry in _registries().items():
        for name, thing in registry.items():
            known = before.get(word, {})
            if thing is known.get(name) or _of_the_package(thing):
                continue
            if name in known:
                raise TutelageError(f"{path} registers the {word} '{name}', which exists already: give it another name")
            if inspect.isabstract(thing):
                missing = ", ".join(sorted(thing.__abstractmethods__))
                raise TutelageError(f"{path}: the {word} '{name}' does not define {missing}: add it")
            new[f"{word} {name}"] = thing
    if not new:
        raise TutelageError(
            f"{path} registers no measure, activation, teacher, student, distribution, schedule or method: see the "
            "decorator measure_of"
        )
    return new
