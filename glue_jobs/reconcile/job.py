"""The reconcile job's script."""

from bucketcast.settings.pipeline import Reconcile
from glue_jobs.job import start
from glue_jobs.reconcile.reconcile import reconcile

if __name__ == "__main__":
    start("reconcile", Reconcile, reconcile)
