"""`bucketcast reconcile`: a mirror beside its bucket. Its arguments and its session."""

import sys

from bucketcast.jobs import Reconcile, parse
from glue_jobs.reconcile.reconcile import reconcile
from glue_jobs.run import Run
from glue_jobs.session import session


def main(argv: list[str]) -> None:
    """Compare the bucket that the arguments name with their target."""
    given = parse(Reconcile, argv)
    with Run(given.run) as run, session("reconcile") as spark:
        reconcile(spark, given, run)


if __name__ == "__main__":
    main(sys.argv[1:])
