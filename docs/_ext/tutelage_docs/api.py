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

QUESTIONS = {
    "Learning": {
        "How do I train students of a teacher?": ("training.train", "training.inputs.from_loader", "lab.build"),
        "What did each student learn?": ("measures.measure", "measures.diagnose", "measures.match_modules"),
        "How do I vary settings, and find the results again?": ("grid", "run", "results", "query"),
        "Does the figure of a paper come out?": ("studies.reproduce", "studies.judge"),
        "Does a theorem apply to my network?": (
            "certificates.certify",
            "certificates.certify_all",
            "certificates.theorems",
        ),
    },
    "Functions": {
        "Are two networks equal?": (
            "functions.same_function",
            "functions.difference_bound",
            "functions.top_class_agreement",
        ),
        "Is an export still the model?": ("functions.check_export", "testing.assert_valid_export"),
        "Which units are not needed?": ("functions.prune", "functions.prune_channels"),
        "Which units match?": ("functions.match", "functions.match_parameters", "functions.match_channels"),
        "Is there a path of low loss between two networks?": (
            "functions.connect",
            "functions.barrier",
            "functions.loss_along",
        ),
        "Which regions does a network have?": ("functions.enumerate_regions", "functions.polygons"),
        "What are the weights behind a function?": ("functions.identify", "functions.canonical"),
        "How do I read and write networks?": ("networks.read_network", "networks.from_module", "networks.save_network"),
    },
    "Theory": {
        "How does training go without samples?": ("population.flow", "population.order_parameters"),
        "What are the expected loss, its gradient and its Hessian?": ("population.loss", "population.gradient"),
        "Is this point a minimum or a saddle?": ("population.end_point",),
        "Does descent converge near the optimum?": ("local.descend", "local.basin_edge", "local.direction"),
        "Which network does training pick?": ("margins.flow", "margins.max_margins", "margins.limits"),
    },
    "Modules and codes": {
        "How do I distil a module?": ("distillation.distil", "distillation.learned", "distillation.outcome"),
        "How do I add early exits?": ("exits.train_exits", "exits.early_exit", "exits.exit_within"),
        "How much information does a code keep?": ("autoencoders.best_elbo", "autoencoders.train_sentences"),
        "Does a method find units that are known?": ("planted.evaluate", "planted.for_modules"),
    },
}
"""Questions by group, each with the names (below ``tutelage``) that answer it, the first one first."""


def pages() -> dict[str, str]:
    """Path below docs -> text."""
    written = {f"api/{package}.md": _package(package) for package in PACKAGES}
    written["api/tutelage.md"] = _top()
    written["api/index.md"] = _index()
    return written


def _index() -> str:
    import tutelage

    functions = sorted(name for name in tutelage.__all__ if name not in PACKAGES)
    rows = "\n".join(f"| [`tutelage.{p}`]({p}.md) | {_summary(f'tutelage.{p}')} |" for p in PACKAGES)
    names = ", ".join(f"`tt.{name}`" for name in functions)
    toctree = "\n".join(["commands", "tutelage", *PACKAGES])
    return (
        "# API reference\n\nEvery public name is in the `__all__` of its package. The names used most often are also "
        f"at the top, after `import tutelage as tt`: {names}.\n\n"
        "Every command is on the page of the [command line](commands.md).\n\n"
        f"{_questions()}\n\n## By package\n\n| package | what is in it |\n|---|---|\n{rows}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"
    )


def only_at_the_top() -> list[str]:
    """Public names of ``tutelage`` that no package has."""
    import tutelage

    packages = (importlib.import_module(f"tutelage.{package}") for package in PACKAGES)
    packaged = {name for package in packages for name in getattr(package, "__all__", ())}
    modules = {*PACKAGES, "teachers", "inputs", "students"}
    return sorted(set(tutelage.__all__) - packaged - modules)


def _top() -> str:
    entries = "\n".join(_entry(importlib.import_module("tutelage"), "tutelage", name) for name in only_at_the_top())
    return f"# tutelage\n\nNames that are at the top and in no package.\n\n```{{eval-rst}}\n{entries}\n```\n"


def _questions() -> str:
    groups = []
    for title, rows in QUESTIONS.items():
        body = "\n".join(f"| {question} | {', '.join(map(_link, names))} |" for question, names in rows.items())
        groups.append(f"## {title}\n\n| question | functions |\n|---|---|\n{body}")
    return "\n\n".join(groups)


def _link(name: str) -> str:
    return f"{{py:obj}}`~tutelage.{name}`"


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
