"""The reconcile job: its arguments and its session."""

import sys

from bucketcast.settings.jobs import Reconcile, parse
from glue_jobs.reconcile.reconcile import reconcile
from glue_jobs.run import Run
from glue_jobs.session import session


def main(argv: list[str]) -> None:
    """Compare the bucket that the arguments name with their target."""
    settings = parse(Reconcile, argv)
    with Run(settings.run) as run, session("reconcile") as spark:
        reconcile(spark, settings, run)


if __name__ == "__main__":
    main(sys.argv[1:])
