"""Reproduced studies as LaTeX: a table of claims and a figure environment per study, to be put into a paper."""

from pathlib import Path
from typing import Any

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.papers import PAPERS
from tutelage.studies.report.html import found_studies, read_study
from tutelage.studies.report.words import quantity_of, short, verdict_of

_HEAD = """% Written by 'tutelage report --latex'; needs \\usepackage{booktabs,graphicx}.
% Paths of figures are relative to this file. BibTeX entries: 'tutelage cite'.
"""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\textbar{}",
    "±": r"\ensuremath{\pm}",
    "°": r"\ensuremath{^\circ}",
}


def write_latex(out: str | Path) -> Path:
    """Write OUT/report.tex for all reproduced studies in a folder.

    Parameters
    ----------
    out
        Folder that :func:`tutelage.studies.reproduce` wrote.

    Returns
    -------
    Path
        The file; it has no preamble and can be included with ``\\input``.
    """
    out = Path(out)
    parts = []
    for folder in found_studies(out):
        if not (folder / "figure.pdf").is_file():
            raise TutelageError(f"the study in {folder} lacks figure.pdf: reproduce it again")
        parts.append(study_latex(read_study(folder), (folder / "figure.pdf").relative_to(out).as_posix()))
    path = out / "report.tex"
    write_atomically(path, "\n".join([_HEAD, *parts]))
    return path


def study_latex(study: dict[str, Any], figure: str) -> str:
    """The table and the figure of one study."""
    paper = study["verdicts"][0]["paper"]
    cited = rf"~\cite{{{paper}}}" if paper in PAPERS else ""
    about = f"{tex(study['title'])}, after {tex(study['source'])}{cited}"
    name = study["name"]
    return "\n".join(
        [
            r"\begin{figure}",
            r"  \centering",
            rf"  \includegraphics[width=\linewidth]{{{figure}}}",
            rf"  \caption{{{about}. {tex(study['shows'])}}}",
            rf"  \label{{fig:{name}-{study['scale']}}}",
            r"\end{figure}",
            r"\begin{table}",
            r"  \centering\small",
            rf"  \caption{{Claims of {about}; scale {study['scale']}.}}",
            rf"  \label{{tab:{name}-{study['scale']}}}",
            r"  \begin{tabular}{lrrrrl}",
            r"    \toprule",
            r"    Setting & Expected & Measured & 95 \% interval & Members & Verdict \\",
            *(line for claim, rows in study["claims"] for line in _claim(claim, rows)),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _claim(claim: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """A claim and its settings, with the interval that decided each: of a mean, or the limit of a share of exceptions.

    A universal statement needs words for what was measured, which stand in a row of their own.
    """
    about = f"{tex(claim['claim'])} ({tex(claim['statistic'])})"
    lines = [r"    \midrule", f"    {_across(about)}"]
    for v in rows:
        measured, interval = quantity_of(v)
        counted = v.get("exceptions") is not None
        shown = (short(v["measured"]), rf"$\le$ {v['interval'][1]:.3g}") if counted else (measured, interval)
        cells = tex(v["setting"]), tex(v["expected"]), *shown, str(v["n"]), tex(verdict_of(v))
        lines.append(f"    {' & '.join(cells)} \\\\")
        if counted:
            lines.append(f"    {_across(tex(f'{measured}; {interval}'))}")
    return lines


def _across(text: str) -> str:
    return rf"\multicolumn{{6}}{{p{{0.95\linewidth}}}}{{{text}}} \\"


def tex(text: str) -> str:
    r"""Text in which no character has a meaning for LaTeX.

    >>> print(tex("p > 0.5 at 95 % of C_1"))
    p \ensuremath{>} 0.5 at 95 \% of C\_1
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in text)
