"""The files of a reproduced study, checked: what does not have the types `reproduce` writes is one sentence."""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tutelage.errors import TutelageError
from tutelage.measures import RECOVERED, LayerMatch
from tutelage.settings import one_line
from tutelage.studies.claims import BOUND, Outcome, threshold_of
from tutelage.studies.figures.panels import draw_matches
from tutelage.studies.intervals import P_VALUES, p_value

CLOSE = 0.01
"""A verdict is close where an interval of 99 % instead of 95 % would leave it undecided."""

Text = Annotated[str, Field(min_length=1)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Claim(_Record):
    study: Text
    paper: Text
    figure: Text
    scale: Text
    claim: Text
    setting: str
    statistic: str
    expected: Annotated[str, Field(pattern=f"^(?:{BOUND.pattern})$")]
    measured: float | None
    stderr: float | None
    n: int
    verdict: Outcome
    reason: str = ""
    method: str = ""
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    published: str = ""
    standing: Literal["paper", "consequence", "own", ""] = ""
    place: str = ""
    kind: str = ""
    why: Literal["refuted", "premise not met", "not found", ""] = ""
    exceptions: int | None = None
    members: int | None = None


class _Experiment(_Record):
    kind: str
    device: str
    seconds: float
    engine: str | None = None
    diverged: dict[str, Any] = Field(default_factory=dict)


class _Provenance(_Record):
    version: str
    commit: str | None = None
    written: str
    seconds: float
    experiments: list[_Experiment] = Field(default_factory=list)


_CLAIMS = TypeAdapter(Annotated[list[_Claim], Field(min_length=1)])
_PROVENANCE = TypeAdapter(_Provenance)


def read_claims(path: Path) -> list[dict[str, Any]]:
    """The claims of a claims.json, one or more."""
    return [claim.model_dump() for claim in _read(path, _CLAIMS)]


def p_value_of(claim: Mapping[str, Any]) -> float | None:
    """One minus the confidence up to which a stored claim holds or fails; None where its numbers do not tell it."""
    method = claim.get("method", "")
    if claim["verdict"] not in ("holds", "fails") or method not in P_VALUES or claim["measured"] is None:
        return None
    _, threshold = threshold_of(claim["expected"])
    return p_value(method, claim["measured"], claim["stderr"], claim["n"], threshold)


def is_close(claim: Mapping[str, Any]) -> bool:
    """Whether a stored claim holds or fails with an interval of 95 %, and would be undecided with one of 99 %."""
    p = p_value_of(claim)
    return p is not None and p > CLOSE


def read_provenance(path: Path) -> dict[str, Any]:
    """What a provenance.json tells."""
    return _read(path, _PROVENANCE).model_dump()


def _read(path: Path, kind: TypeAdapter) -> Any:
    try:
        return kind.validate_python(json.loads(path.read_text()))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        why = f"'{'.'.join(map(str, first['loc']))}': {first['msg']}"
    except OSError as error:
        why = str(error.strerror)
    except (ValueError, RecursionError) as error:
        why = str(error)
    raise TutelageError(f"{path} is damaged ({one_line(why)}): run 'tutelage reproduce' for this study again")


def modules_page(matches: Sequence[LayerMatch], names: tuple[str, str] = ("teacher", "student")) -> str:
    """The page as text, from what :func:`tutelage.measures.match_modules` found; nothing in it is fetched."""
    if not matches:
        raise TutelageError("there are no layers to report on: match at least one pair")
    picture = io.BytesIO()
    draw_matches(matches).savefig(picture, format="png", dpi=150)
    environment = Environment(
        loader=PackageLoader("tutelage.studies.report", "."), autoescape=True, undefined=StrictUndefined
    )
    drawn = base64.b64encode(picture.getvalue()).decode()
    template = environment.get_template("modules.html.j2")
    return template.render(names=names, matches=matches, picture=drawn, recovered=RECOVERED)
