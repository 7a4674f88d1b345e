"""A job whose Java process is killed while it works: `python -m tests.glue.killed_job FOLDER`."""

import os
import signal
import sys

from glue_jobs.run import Run, session


def main(folder: str) -> None:
    """Kill Spark's JVM, as the system does when memory runs out, and then use it."""
    with Run(folder) as run, session("killed") as spark:
        run.report("counting")
        spark.range(1).count()
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        os.kill(gateway.proc.pid, signal.SIGKILL)
        gateway.proc.wait()
        spark.range(1).count()


if __name__ == "__main__":
    main(sys.argv[1])
