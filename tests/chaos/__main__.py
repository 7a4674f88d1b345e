"""`make chaos N=100000 SEED=1`: a whole run on servers and a local AWS of its own.

Exits with 1 where anything is lost or wrong, and then leaves its folder with all logs.
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos import report
from tests.chaos.plan import plan
from tests.chaos.run import Result, add_rules, prepare, run
from tests.e2e.all_servers import AllServers, all_running
from tests.e2e.deployment import Local, write_configuration
from tests.e2e.system import Deployed
from tests.servers import tls

BUCKET = "uploads"
TOGETHER = 20
"""Records that a message may hold at most."""
SETTLE_SECONDS = 900.0
_began = time.monotonic()


def main() -> int:
    """Run, print and keep the report; return 1 if the run was not good."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix=f"bucketcast-chaos-{options.seed}-"))
    folder.chmod(0o755)  # PostgreSQL runs as another user
    log(f"everything of this run is in {folder}")
    try:
        result = _deploy_and_run(options, folder)
    except BaseException:
        log(f"seed {options.seed}, N={options.events}: not finished; the logs are in {folder}")
        raise
    if not result.verdict.good:
        log(f"seed {options.seed}, N={options.events}: NOT GOOD; the logs are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def log(message: str) -> None:
    print(f"{time.monotonic() - _began:6.0f} s  {message}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=Path, help="where to write the report, too")
    return parser.parse_args()


def _deploy_and_run(options: argparse.Namespace, folder: Path) -> Result:
    """Start and deploy everything, run, and end everything."""
    with all_running(folder / "servers", tls.issue(folder / "tls")) as all_servers:
        log("ten servers run")
        config = folder / "bucketcast.toml"
        write_configuration(config, {BUCKET: {"via": "sqs"}}, all_servers.targets())
        local = Local(folder / "local")
        try:
            local.up(config)
            system = Deployed(local, config, folder)
            log("the stack is deployed")
            return _run(options, system, all_servers)
        finally:
            local.stop()


def _run(options: argparse.Namespace, system: Deployed, all_servers: AllServers) -> Result:
    add_rules(system, BUCKET)
    prepare(system, all_servers)
    planned = plan(options.events, options.seed, sorted(system.targets), together=TOGETHER)
    bucket_and_prefix = (BUCKET, "chaos/")
    result = run(planned, system, all_servers, bucket_and_prefix, settle=SETTLE_SECONDS, log=log)
    section = report.markdown(result)
    print(section, flush=True)
    if options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(section, encoding="utf-8")
    return result


if __name__ == "__main__":
    sys.exit(main())
