"""The reconcile job's script."""

from bucketcast.settings.pipeline import Reconcile
from glue_jobs.reconcile.reconcile import reconcile
from glue_jobs.run import start

if __name__ == "__main__":
    start("reconcile", Reconcile, reconcile)
