"""The backfill job: its arguments and its session."""

import sys

from bucketcast.settings.jobs import Backfill, parse
from glue_jobs.backfill.backfill import backfill
from glue_jobs.run import Run
from glue_jobs.session import session


def main(argv: list[str]) -> None:
    """Backfill the target that the arguments name."""
    settings = parse(Backfill, argv)
    with Run(settings.run) as run, session("backfill") as spark:
        backfill(spark, settings, run)


if __name__ == "__main__":
    main(sys.argv[1:])
