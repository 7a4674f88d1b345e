"""Print the limits that a user can reach, with what the worst input that each allows takes."""

import os
import sys

from bucketcast import limits
from tests.unit.limits import of_gateway, of_ingest, of_scanner

if __name__ == "__main__":
    os.environ.update(of_ingest.ENVIRON)
    sys.stdout.write(f"{'limit':28} {'figure':>11} {'MB':>5} {'s':>5} {'ms an event':>12}  worst\n")
    for row in (*of_ingest.ROWS, *of_gateway.ROWS, *of_scanner.ROWS):
        megabytes, seconds, match = row.take()
        for name in row.limits:
            sys.stdout.write(
                f"{name:28} {getattr(limits, name):>11,} {megabytes:5.0f} {seconds:5.2f} "
                f"{match * 1e3:12.1f}  {row.name}\n"
            )
        sys.stdout.flush()
