"""Studies of the registry with what is stored of them."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tutelage.papers import PAPERS, Paper
from tutelage.studies import STUDIES, Study
from tutelage.studies.claims import refutes
from tutelage.studies.report.words import summary
from tutelage.studies.study import source

SCALES = ("paper", "quick")
"""Scales whose results are stored, the one to show first before the other."""

GOOD = ("holds", "passes")
"""Verdicts of claims and checks that came out as expected; every other one is listed with its numbers."""
BAD = ("fails", "does not pass")
"""Verdicts of claims and checks that came out otherwise."""


@dataclass(frozen=True)
class StoredStudy:
    """One folder of results: claims, provenance and figure of a study at one scale."""

    scale: str
    folder: Path
    claims: list[dict[str, Any]]
    provenance: Mapping[str, Any]

    @cached_property
    def counts(self) -> Counter[str]:
        """How many settings got each verdict."""
        return Counter(str(claim["verdict"]) for claim in self.claims)

    @property
    def not_good(self) -> list[dict[str, Any]]:
        """The claims that did not come out as expected, failing ones first."""
        return sorted((c for c in self.claims if c["verdict"] not in GOOD), key=lambda c: c["verdict"] not in BAD)

    @property
    def refuted(self) -> int:
        """How many verdicts refute a sentence of the paper; the other misses say nothing against it."""
        return sum(map(refutes, self.claims))

    @property
    def words(self) -> str:
        """The verdicts counted in words, and how many of the misses refute the paper."""
        misses = sum(self.counts[verdict] for verdict in BAD)
        return summary(self.counts) + (f" ({self.refuted} of these misses refute the paper)" if misses else "")

    @property
    def seconds(self) -> float | None:
        value = self.provenance.get("seconds")
        return None if value is None else float(value)

    @property
    def devices(self) -> list[str]:
        """Names of the devices that the experiments were computed on, where provenance tells."""
        experiments = self.provenance.get("experiments") or self.provenance.get("packs") or []
        return sorted({e["device"] for e in experiments if e.get("device")})


@dataclass(frozen=True)
class GalleryStudy:
    """A registered study, its place in the package and in the papers, and its stored results."""

    name: str
    title: str
    shows: str
    subject: str
    source: str
    module: str
    paper: Paper | None
    stored: list[StoredStudy] = field(default_factory=list)

    @property
    def file(self) -> str:
        """Path of its source file, from the root of the repository."""
        return f"src/{self.module.replace('.', '/')}.py"

    @property
    def first(self) -> StoredStudy | None:
        """The stored results that are shown first."""
        return self.stored[0] if self.stored else None


def gallery_studies(docs: Path) -> list[GalleryStudy]:
    """Every registered study, by name, with what ``docs/results`` holds of it."""
    return [_gallery_study(study, docs / "results") for _, study in sorted(STUDIES.items())]


def _gallery_study(study: Study, results: Path) -> GalleryStudy:
    module = study.plan.__module__
    stored = [found for scale in SCALES if (found := _read(results / scale / study.name, scale))]
    return GalleryStudy(
        study.name,
        study.title,
        study.shows,
        module.split(".")[1],
        source(study.paper, study.figure),
        module,
        PAPERS.get(study.paper),
        stored,
    )


def _read(folder: Path, scale: str) -> StoredStudy | None:
    """What a folder holds; None where nothing is stored. A folder without one of its files is an error."""
    if not folder.is_dir():
        return None
    claims = json.loads((folder / "claims.json").read_text())
    provenance = json.loads((folder / "provenance.json").read_text())
    return StoredStudy(scale, folder, claims, provenance)
