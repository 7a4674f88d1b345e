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
from tests.chaos.run import Result, bring_back_soon, prepare, run
from tests.e2e.deployment import Local, write_configuration
from tests.e2e.system import Deployed
from tests.e2e.ten import Ten, all_running
from tests.servers import tls

BUCKET = "uploads"
TOGETHER = 20
SETTLE_SECONDS = 900.0
_began = time.monotonic()


def main() -> int:
    """Run, print, keep the report; 1 if the run was not good."""
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix=f"bucketcast-chaos-{options.seed}-"))
    folder.chmod(0o755)  # PostgreSQL runs as another user
    say(f"everything of this run is in {folder}")
    try:
        result = _whole(options, folder)
    except BaseException:
        say(f"seed {options.seed}, N={options.events}: not finished; the logs are in {folder}")
        raise
    if not result.verdict.good:
        say(f"seed {options.seed}, N={options.events}: NOT GOOD; the logs are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def say(text: str) -> None:
    print(f"{time.monotonic() - _began:6.0f} s  {text}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--together", type=int, default=TOGETHER, help="records that a message may hold at most"
    )
    parser.add_argument(
        "--visibility",
        type=int,
        default=0,
        help="seconds until what a killed function had comes back; 0: as deployed",
    )
    parser.add_argument("--report", type=Path, help="where to write the report, too")
    return parser.parse_args()


def _whole(options: argparse.Namespace, folder: Path) -> Result:
    """Start and deploy everything, run, and end everything."""
    with all_running(folder / "servers", tls.issue(folder / "tls")) as ten:
        say("ten servers run")
        config = folder / "bucketcast.toml"
        write_configuration(config, {BUCKET: {"via": "sqs"}}, ten.targets())
        local = Local(folder / "local")
        try:
            local.up(config)
            system = Deployed(local, config, folder)
            say("the stack is deployed")
            return _run(options, system, ten)
        finally:
            local.stop()


def _run(options: argparse.Namespace, system: Deployed, ten: Ten) -> Result:
    targets = sorted(system.targets)
    for name in targets:
        system.add_rule(BUCKET, name)
    prepare(system, ten)
    if options.visibility:
        bring_back_soon(system, options.visibility)
    planned = plan(options.events, options.seed, targets, together=options.together)
    bucket_and_prefix = (BUCKET, "chaos/")
    result = run(planned, system, ten, bucket_and_prefix, settle=SETTLE_SECONDS, say=say)
    text = report.markdown(result)
    print(text, flush=True)
    if options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(text, encoding="utf-8")
    return result


if __name__ == "__main__":
    sys.exit(main())
