"""Write into stored verdicts whose statement each claim is, what a value is, and what a miss means.

python .ci/restate_claims.py

These are words about a claim, which follow from its sentence in the study as it is now; what was measured, and the
verdict, stay as they are. A sentence that the study no longer has is named: its study has to be run again.
"""

import json
import re
from pathlib import Path
from typing import Any

from tutelage.studies import STUDIES, Check, Claim
from tutelage.studies.claims import MISSED

RESULTS = Path(__file__).parents[1] / "docs" / "results"


def main() -> None:
    for path in sorted(RESULTS.glob("*/*/claims.json")):
        verdicts = json.loads(path.read_text())
        claims = {claim.sentence: claim for claim in STUDIES[path.parent.name].plan(path.parent.parent.name).claims}
        stated = [restated(verdict, claims.get(verdict["claim"])) for verdict in verdicts]
        path.write_text(json.dumps(stated, indent=1))


def restated(verdict: dict[str, Any], claim: Claim | Check | None) -> dict[str, Any]:
    """A stored verdict with the words of its claim."""
    if claim is None:
        print(f"{verdict['study']}, {verdict['scale']} scale: the study has no claim '{verdict['claim']}'")
        return verdict
    words = {"standing": claim.standing, "place": claim.place, "kind": getattr(claim, "kind", "check")}
    counted = re.match(r"every member: (\d+) exceptions", verdict["method"])
    exceptions = int(counted[1]) if counted else None
    why = claim.failure if verdict["verdict"] in MISSED else ""
    return verdict | words | {"why": why, "exceptions": exceptions, "members": verdict.get("members", verdict["n"])}


if __name__ == "__main__":
    main()
