"""Listening: every client's own calls, through the gateway and by the command."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from urllib3 import PoolManager

from tests.e2e.commands import COMMAND
from tests.e2e.deployment import STACK
from tests.e2e.mc import Mc
from tests.e2e.system import System
from tests.waiting import WAIT_SECONDS

PUTS = "s3:ObjectCreated:*"
REMOVED = "s3:ObjectRemoved:*"


@contextmanager
def running(process: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def listeners(system: System) -> list[str]:
    """The queues of listeners that there are."""
    found = system.sqs.list_queues(QueueNamePrefix=f"{STACK}-listen-").get("QueueUrls", [])
    return sorted(found)


def until_listening(system: System, before: list[str], count: int = 1) -> None:
    """Wait for the queues of those that began since; each hears what is put from then on."""
    system.until(
        "listeners", lambda: set(listeners(system)) - set(before), lambda seen: len(seen) >= count
    )


def test_mc_watches_a_bucket_and_all_buckets(
    system: System, mc: Mc, bucket: str, tmp_path: Path
) -> None:
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(b"a picture")
    files = [tmp_path / "one", tmp_path / "all"]
    words = ["bucket-creation", "bucket-removal", "put"]
    with files[0].open("w") as one, files[1].open("w") as all_:
        before = listeners(system)
        first = mc.popen("watch", "--json", "--suffix", ".jpg", f"local/{bucket}", stdout=one)
        second = mc.popen("watch", "--json", "--events", ",".join(words), "local", stdout=all_)
        with running(first), running(second):
            until_listening(system, before, 2)
            mc("cp", str(photo), f"local/{bucket}/a b.jpg")
            mc("cp", str(photo), f"local/{bucket}/other.png")
            mc("rm", f"local/{bucket}/a b.jpg")
            mc("mb", f"local/{bucket}-new")
            mc("cp", str(photo), f"local/{bucket}-new/first.jpg")
            mc("rm", f"local/{bucket}-new/first.jpg")
            mc("rb", f"local/{bucket}-new")

            def seen(file: Path) -> list[tuple[str, str]]:
                whole, _, _ = file.read_text().rpartition("\n")
                found = [json.loads(line) for line in whole.splitlines()]
                return [
                    (each["events"]["type"], urlsplit(each["events"]["path"]).path)
                    for each in found
                ]

            system.until_equal(
                "the bucket's",
                lambda: sorted(seen(files[0])),
                [
                    ("s3:ObjectCreated:Put", f"/{bucket}/a b.jpg"),
                    ("s3:ObjectRemoved:Delete", f"/{bucket}/a b.jpg"),
                ],
            )
            system.until_equal(
                "buckets made and removed, and what is put into them",
                lambda: sorted(each for each in seen(files[1]) if f"{bucket}-" in each[1]),
                [
                    ("s3:BucketCreated:*", f"/{bucket}-new"),
                    ("s3:BucketRemoved:*", f"/{bucket}-new"),
                    ("s3:ObjectCreated:Put", f"/{bucket}-new/first.jpg"),
                ],
            )


def test_ten_listeners_of_one_filter_each_hear_everything_at_the_functions_url(
    system: System, prefix: str
) -> None:
    """As on AWS, where a call ends after its events; the gateway's function names that URL."""
    target = f"/uploads?events={quote(PUTS)}&prefix={quote(prefix, safe='')}"
    where = system.environment
    user = Credentials(where["BUCKETCAST_ACCESS_KEY"], where["BUCKETCAST_SECRET_KEY"])
    keys, late = {f"{prefix}{number}" for number in range(12)}, f"{prefix}late"

    def get(output: str) -> tuple[int, bytes]:
        # The local AWS finds a function by its host name.
        host = urlsplit(system.outputs[output]).netloc
        signed = AWSRequest("GET", f"http://{host}{target}", {"Host": host})
        S3SigV4Auth(user, "s3", where["AWS_REGION"]).add_auth(signed)
        answer = PoolManager(timeout=180, retries=False).request(
            "GET", where["AWS_ENDPOINT_URL"] + target, headers=dict(signed.headers)
        )
        return answer.status, answer.data

    def hear(keys: set[str]) -> set[str]:
        """Call again until all is heard, as clients do."""
        heard: set[str] = set()
        deadline = time.monotonic() + WAIT_SECONDS
        while not keys <= heard and time.monotonic() < deadline:
            status, body = get("ListenUrl")
            assert status == 200, body
            records = [json.loads(line)["Records"] for line in body.splitlines() if line.strip()]
            heard |= {each["s3"]["object"]["key"] for lines in records for each in lines or ()}
        return heard

    status, body = get("GatewayUrl")
    assert (status, system.outputs["ListenUrl"].encode() in body) == (400, True)
    before = listeners(system)
    with ThreadPoolExecutor(10) as threads:
        heard = [threads.submit(hear, keys) for _ in range(10)]
        until_listening(system, before, 10)
        for key in sorted(keys):
            system.put("uploads", key)
        assert [each.result() for each in heard] == [keys] * 10
    system.put("uploads", late)
    assert late in hear({late}), "it was put while nobody was connected"


def test_listen_command_shows_lines_and_exits_with_0(system: System, prefix: str) -> None:
    before = listeners(system)
    arguments = [str(COMMAND), "listen", f"s3://uploads/{prefix}", "--event", "put"]

    def begin(*more: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*arguments, *more],
            env=system.environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    with running(begin()) as people, running(begin("--json")) as programs:
        until_listening(system, before, 2)
        system.put("uploads", f"{prefix}a.jpg", b"12345")
        assert people.stdout
        assert programs.stdout
        words = people.stdout.readline().split()
        assert words[1:] == ["s3:ObjectCreated:Put", f"uploads/{prefix}a.jpg", "5"]
        document = json.loads(programs.stdout.readline())
        assert document["Records"][0]["s3"]["object"]["key"] == f"{prefix}a.jpg"
        for process in (people, programs):
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=180) == 0
