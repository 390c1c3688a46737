"""Pages of the reference: one per package, with every name of its ``__all__``."""

import importlib
from typing import Any

PACKAGES = (
    "networks",
    "data",
    "training",
    "measures",
    "population",
    "certificates",
    "lab",
    "studies",
    "functions",
    "specialisation",
    "alignment",
    "local",
    "margins",
    "autoencoders",
    "distillation",
    "exits",
    "planted",
    "studio",
)
"""Packages in the order of the layers, lowest first."""

ROLES = {
    "functions": ("tutelage.testing",),
    "training": ("tutelage.training.teachers", "tutelage.training.inputs", "tutelage.training.students"),
}
"""Packages whose pages have further public modules."""


def pages() -> dict[str, str]:
    """Path below docs -> text."""
    written = {f"api/{package}.md": _package(package) for package in PACKAGES}
    written["api/index.md"] = _index()
    return written


def _index() -> str:
    import tutelage

    functions = sorted(name for name in tutelage.__all__ if name not in PACKAGES)
    rows = "\n".join(f"| [`tutelage.{p}`]({p}.md) | {_summary(f'tutelage.{p}')} |" for p in PACKAGES)
    names = ", ".join(f"`tt.{name}`" for name in functions)
    toctree = "\n".join(["commands", *PACKAGES])
    return (
        "# API reference\n\nEvery public name is in the `__all__` of its package. The names used most often are also "
        f"at the top, after `import tutelage as tt`: {names}.\n\n"
        "Every command is on the page of the [command line](commands.md).\n\n"
        f"| package | what is in it |\n|---|---|\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"
    )


def _summary(module: str) -> str:
    first = (importlib.import_module(module).__doc__ or "").strip().split("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|").replace("``", "`").replace("*", "\\*")


def _package(package: str) -> str:
    modules = (f"tutelage.{package}", *ROLES.get(package, ()))
    parts = [f"# tutelage.{package}", *(_module(m, head=m != f"tutelage.{package}") for m in modules)]
    return "\n\n".join(parts) + "\n"


def _module(name: str, head: bool) -> str:
    module: Any = importlib.import_module(name)
    public = list(getattr(module, "__all__", ()))
    title = f"## {name}\n\n" if head else ""
    body = f".. automodule:: {name}\n   :no-members:\n\n"
    if public:
        body += ".. autosummary::\n   :nosignatures:\n\n" + "".join(f"   {member}\n" for member in public) + "\n"
    body += "\n".join(_entry(module, name, member) for member in public)
    return f"{title}```{{eval-rst}}\n{body}\n```"


def _entry(module: Any, name: str, member: str) -> str:
    value = getattr(module, member)
    if isinstance(value, type):
        return f".. autoclass:: {name}.{member}\n"
    if callable(value):
        return f".. autofunction:: {name}.{member}\n"
    return f".. autodata:: {name}.{member}\n   :no-value:\n"
