"""The backfill's job: its arguments and its session."""

import sys

from bucketcast.jobs import Backfill, parse
from glue_jobs.backfill.backfill import backfill
from glue_jobs.run import Run
from glue_jobs.session import session


def main(argv: list[str]) -> None:
    """Backfill the target that the arguments name."""
    given = parse(Backfill, argv)
    with Run(given.run) as run, session("backfill") as spark:
        backfill(spark, given, run)


if __name__ == "__main__":
    main(sys.argv[1:])
