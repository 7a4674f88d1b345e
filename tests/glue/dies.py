"""A job whose Java process is killed while it works: `python -m tests.glue.dies FOLDER`."""

import os
import signal
import sys

from glue_jobs.job import session
from glue_jobs.run import Run


def main(folder: str) -> None:
    """Kill Spark's JVM, as the system does when memory runs out, and then ask it for something."""
    with Run(folder) as run, session("dies") as spark:
        run.report("counting")
        spark.range(1).count()
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        os.kill(gateway.proc.pid, signal.SIGKILL)
        gateway.proc.wait()
        spark.range(1).count()


if __name__ == "__main__":
    main(sys.argv[1])
