"""Play every trouble, print what was seen, and write the table into `docs/whose-trouble.md`.

`python -m tests.unit.simulation.troubles [WORD ...]` plays those with a word in their names only,
and writes nothing.
"""

import sys
import time

from tests.unit.simulation.troubles.cell import see
from tests.unit.simulation.troubles.page import CELLS, PAGE, table, written


def main(words: list[str]) -> None:
    cells = [cell for cell in CELLS if not words or any(word in cell.name for word in words)]
    for cell in cells:
        began = time.process_time()
        exceeded = "; ".join(cell.bounds.exceeded(see(cell)))
        state = "RED" if exceeded else "green"
        took = time.process_time() - began
        sys.stdout.write(f"{took:6.1f} s  {state:6}  {cell.name}  {exceeded}\n")
        sys.stdout.flush()
    rows = table(cells, map(see, cells))
    sys.stdout.write(rows)
    if not words:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
