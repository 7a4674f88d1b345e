"""Write the tables of docs/scale.md and its pictures, and print the simulation beside the model.

Run: `python -m benchmarks.scale`; it takes two minutes.
"""

import sys
from pathlib import Path

from benchmarks.scale.compared import compare
from benchmarks.scale.page import CASES, page
from benchmarks.scale.pictures import pictures
from bucketcast.terminal.output import plain

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    path = DOCS / "scale.md"
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    for name, svg in pictures().items():
        (DOCS / "pictures" / name).write_text(svg, encoding="utf-8")
    rows = []
    for case in CASES:
        found = compare(case)
        cells = (f"{seen:.4g} ({seen / model - 1:+.0%})" for model, seen in found.values())
        rows.append((case.profile, str(case.targets), f"{case.rate:,}", *cells))
    sys.stdout.write(plain(("SIMULATED", "TARGETS", "EVENTS/S", *found), rows) + "\n")


if __name__ == "__main__":
    main()
