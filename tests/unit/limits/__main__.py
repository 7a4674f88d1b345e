"""Print the limits that a user can reach, with what the worst input that each allows takes."""

import os
import sys

from tests.unit.limits import of_gateway, of_ingest

if __name__ == "__main__":
    os.environ.update(of_ingest.ENVIRON)
    sys.stdout.write(f"{'limit':34} {'figure':>18} {'MB':>6} {'s':>6} {'ms an event':>12}\n")
    for (name, figure), take in (of_ingest.LIMITS | of_gateway.LIMITS).items():
        megabytes, seconds, match = take()
        sys.stdout.write(
            f"{name:34} {figure:>18} {megabytes:6.0f} {seconds:6.2f} {match * 1e3:12.1f}\n"
        )
        sys.stdout.flush()
