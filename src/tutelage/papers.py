"""The works whose figures and theorems are reproduced, with what is needed to cite them."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata

from tutelage import __version__
from tutelage.errors import unknown
from tutelage.version import commit


@dataclass(frozen=True)
class Paper:
    """A published work.

    Parameters
    ----------
    key
        Short name used in code, files and BibTeX, such as ``"tian2020"``.
    label
        Short name used in prose and tables, such as ``"Tian 2020"``.
    authors
        Family name and given names of every author.
    year, title, venue
        As printed.
    url
        Address of the work.
    kind
        BibTeX entry type.
    """

    key: str
    label: str
    authors: tuple[tuple[str, str], ...]
    year: int
    title: str
    venue: str
    url: str
    kind: str = "inproceedings"

    def citation(self) -> str:
        """One line for a list of references.

        >>> print(PAPERS["zhou2021"].citation())  # doctest: +ELLIPSIS
        Mo Zhou, Rong Ge, Chi Jin (2021). A Local Convergence Theory ... COLT, PMLR 134:4577-4632. https://...
        """
        names = ", ".join(f"{given} {family}" for family, given in self.authors)
        return f"{names} ({self.year}). {self.title}. {self.venue}. {self.url}"

    def bibtex(self) -> str:
        """The BibTeX entry.

        >>> print(PAPERS["tian2020"].bibtex())
        @inproceedings{tian2020,
          author = {Tian, Yuandong},
          title = {{Student Specialization in Deep Rectified Networks With Finite Width and Input Dimension}},
          booktitle = {ICML, PMLR 119:9470-9480},
          year = {2020},
          url = {https://proceedings.mlr.press/v119/tian20a.html},
        }
        """
        place = {"inproceedings": "booktitle", "phdthesis": "school", "misc": "howpublished", "article": "journal"}[
            self.kind
        ]
        fields = {
            "author": " and ".join(f"{family}, {given}" for family, given in self.authors),
            "title": f"{{{self.title}}}",
            place: self.venue,
            "year": str(self.year),
            "url": self.url,
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


_ALL = (
    Paper(
        "tian2020",
        "Tian 2020",
        (("Tian", "Yuandong"),),
        2020,
        "Student Specialization in Deep Rectified Networks With Finite Width and Input Dimension",
        "ICML, PMLR 119:9470-9480",
        "https://proceedings.mlr.press/v119/tian20a.html",
    ),
    Paper(
        "tian2019",
        "Tian 2019",
        (("Tian", "Yuandong"),),
        2019,
        "Over-parameterization as a Catalyst for Better Generalization of Deep ReLU Network",
        "first version of arXiv:1909.13458",
        "https://arxiv.org/abs/1909.13458v1",
        "misc",
    ),
    Paper(
        "zhu2021",
        "Zhu et al. 2021",
        (("Zhu", "Hanlin"), ("Ying", "Chengyang"), ("Zuo", "Song")),
        2021,
        "Analysis of Alignment Phenomenon in Simple Teacher-student Networks with Finite Width",
        "submission to ICLR 2021, OpenReview e3bhF_p0T7c",
        "https://openreview.net/forum?id=e3bhF_p0T7c",
        "misc",
    ),
    Paper(
        "zhou2021",
        "Zhou et al. 2021",
        (("Zhou", "Mo"), ("Ge", "Rong"), ("Jin", "Chi")),
        2021,
        "A Local Convergence Theory for Mildly Over-Parameterized Two-Layer Neural Network",
        "COLT, PMLR 134:4577-4632",
        "https://arxiv.org/abs/2102.02410",
    ),
    Paper(
        "phuong2021",
        "Phuong 2021",
        (("Phuong", "Mary"),),
        2021,
        "Underspecification in Deep Learning",
        "Institute of Science and Technology Austria",
        "https://doi.org/10.15479/at:ista:9418",
        "phdthesis",
    ),
    Paper(
        "saad1995",
        "Saad and Solla 1995",
        (("Saad", "David"), ("Solla", "Sara A.")),
        1995,
        "On-line learning in soft committee machines",
        "Physical Review E 52(4):4225-4243",
        "https://doi.org/10.1103/PhysRevE.52.4225",
        "article",
    ),
    Paper(
        "benarous2021",
        "Ben Arous et al. 2021",
        (("Ben Arous", "Gérard"), ("Gheissari", "Reza"), ("Jagannath", "Aukosh")),
        2021,
        "Online stochastic gradient descent on non-convex losses from high-dimensional inference",
        "Journal of Machine Learning Research 22(106):1-51",
        "https://jmlr.org/papers/v22/20-1288.html",
        "article",
    ),
    Paper(
        "ren2025",
        "Ren et al. 2025",
        (("Ren", "Yunwei"), ("Nichani", "Eshaan"), ("Wu", "Denny"), ("Lee", "Jason D.")),
        2025,
        "Emergence and scaling laws in SGD learning of shallow neural networks",
        "Advances in Neural Information Processing Systems 38",
        "https://arxiv.org/abs/2504.19983",
    ),
    Paper(
        "goldt2019",
        "Goldt et al. 2019",
        (
            ("Goldt", "Sebastian"),
            ("Advani", "Madhu S."),
            ("Saxe", "Andrew M."),
            ("Krzakala", "Florent"),
            ("Zdeborová", "Lenka"),
        ),
        2019,
        "Dynamics of stochastic gradient descent for two-layer neural networks in the teacher-student setup",
        "NeurIPS 32",
        "https://arxiv.org/abs/1906.08632",
    ),
)

PAPERS: dict[str, Paper] = {paper.key: paper for paper in _ALL}
"""Papers by key."""


LIBRARY_TITLE = "tutelage: a laboratory for teacher-student networks"
LIBRARY_AUTHORS = "The tutelage developers"
LIBRARY_YEAR = 2026


def library_bibtex() -> str:
    """The BibTeX entry of this version of the library: version, commit and address, as far as they are known.

    The commit is that of :func:`tutelage.version.commit`; the address is that of the repository in ``pyproject.toml``.

    >>> print(library_bibtex().splitlines()[0])
    @software{tutelage,
    """
    fields = {
        "author": f"{{{LIBRARY_AUTHORS}}}",
        "title": f"{{{LIBRARY_TITLE}}}",
        "version": __version__,
        "year": str(LIBRARY_YEAR),
        "note": f"commit {state}" if (state := commit()) else "",
        "url": _address(),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join(["@software{tutelage,", *lines, "}"])


def _address() -> str:
    """Address of the repository that the installed package names, empty where it names none or is not installed."""
    try:
        named = metadata("tutelage").get_all("Project-URL") or ()
    except PackageNotFoundError:
        return ""
    urls = (line.partition(", ") for line in named)
    return next((url for name, _, url in urls if name.lower() in ("repository", "source")), "")


def find_paper(key: str) -> Paper:
    """The paper with that key; a :class:`~tutelage.TutelageError` names the nearest key if there is none."""
    if key not in PAPERS:
        raise unknown("paper", key, PAPERS)
    return PAPERS[key]
