"""Our dispatch and a peer's sender in turns: the same events, server and cores.

The peer is a program on this machine, which is known by its `--version`. So far it is MinIO, which
drains its queue_dir: the events are files there when it starts, and the clock runs from the first
that is gone until the last is. Events, rounds and figures are those of `benchmarks.dispatch`.

Run: `python -m benchmarks.race PEER=path [SERVER ...]`.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4

import psutil

from benchmarks import dispatch, events
from benchmarks.dispatch import Figure
from bucketcast import targets
from tests.servers.machine import ports

MINIO: Final = "minio version "
START_SECONDS: Final = 30.0
DRAIN_SECONDS: Final = 600.0


class PeerError(Exception):
    """The peer does not send to this server; says what it logged."""


def main() -> None:
    program, names = _arguments(sys.argv[1:])
    try:
        run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise SystemExit(f"PEER={program}: {error.strerror}") from None
    if not run.stdout.startswith(MINIO):
        raise SystemExit(f"PEER={program} is not MinIO, the only peer known: {run.stdout[:60]!r}")
    dispatch.print_header("target", "events/s", "MinIO", "times", "CPU ms per 1,000", "MinIO's")
    for name in names:
        kind = name.partition("-")[0]
        with dispatch.server(name) as settings:
            try:
                dispatch.print_row(name, *_race(program, kind, settings))
            except PeerError as error:
                print(f"| {name} | {error} |")


def _arguments(words: list[str]) -> tuple[str, list[str]]:
    peers = [word.removeprefix("PEER=") for word in words if word.startswith("PEER=")]
    if len(peers) != 1:
        raise SystemExit("name the peer's program: PEER=path/to/minio")
    return peers[0], dispatch.server_names([word for word in words if word[:5] != "PEER="])


def _race(
    program: str, kind: str, settings: Mapping[str, str]
) -> tuple[list[Figure], list[Figure]]:
    """Return our figures and the peer's, of each round but the first.

    Ours go first and make the table, which MinIO cannot make in MariaDB.
    """
    ours: list[Figure] = []
    theirs: list[Figure] = []
    with dispatch.handler(kind, settings) as handle:
        for number in range(dispatch.ROUNDS + 1):
            first, second = number * 2 * dispatch.EVENTS, (number * 2 + 1) * dispatch.EVENTS
            records = dispatch.invocation(events.events(dispatch.EVENTS, first))
            ours.append(dispatch.measure(partial(handle, records)))
            theirs.append(_drain(program, kind, settings, second))
    return ours[1:], theirs[1:]


def _drain(program: str, kind: str, settings: Mapping[str, str], start: int) -> Figure:
    """Return MinIO's figure for as many events from the number `start`."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        files = _fill(folder / "queue" / f"minio-{targets.load(kind).arn_type}-_", start)
        variables = {"enable": "on", "queue_dir": str(folder / "queue"), **settings}
        own = {f"MINIO_NOTIFY_{kind}_{name}".upper(): text for name, text in variables.items()}
        address = f"127.0.0.1:{ports(folder, 'minio')['minio']}"
        log = folder / "log"
        with log.open("wb") as output:
            server = psutil.Popen(
                [program, "server", str(folder / "data"), "--address", address],
                env={"PATH": os.defpath, "HOME": path, **own},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                _wait(files[0], START_SECONDS, log)
                cpu, began = _cpu(server), time.perf_counter()
                _wait(files[-1], DRAIN_SECONDS, log)
                seconds, cpu = time.perf_counter() - began, _cpu(server) - cpu
            finally:
                server.terminate()
                server.wait()
    return Figure((len(files) - 1) / seconds, cpu / (len(files) - 1) * 1e6)


def _fill(folder: Path, start: int) -> list[Path]:
    """Write the events as MinIO does; return the files in the order of its sending."""
    folder.mkdir(parents=True)
    files = [folder / f"{uuid4()}.event" for _ in range(dispatch.EVENTS)]
    for number, file in enumerate(files):
        file.write_text(json.dumps(events.record(start + number, name="s3:ObjectCreated:Put")))
        os.utime(file, (number, number))  # it sends the oldest first
    return files


def _wait(file: Path, seconds: float, log: Path) -> None:
    deadline = time.perf_counter() + seconds
    while file.exists():
        if time.perf_counter() > deadline:
            reasons = re.findall("^Error: (.*)", log.read_text(), re.MULTILINE)
            raise PeerError(f"not sent within {seconds:.0f} s: {[*dict.fromkeys(reasons)]}")
        time.sleep(0.005)


def _cpu(process: psutil.Popen) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
