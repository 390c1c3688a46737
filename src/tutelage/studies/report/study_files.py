"""The files of a reproduced study, checked: what does not have the types `reproduce` writes is one sentence."""

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tutelage.errors import TutelageError
from tutelage.settings import one_line
from tutelage.studies.claims import Outcome

EARLIER = "Student, earlier rules"
"""The method of verdicts stored before intervals fitted the statistic: Student's for everything."""

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
    expected: str
    measured: float | None
    stderr: float | None
    n: int
    verdict: Outcome
    refuted_by: str
    reason: str = ""
    method: str = EARLIER
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    published: str = ""


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
