"""Functions of MiniStack: what a call prints is in its log, and processes share their package."""

import json
import subprocess
from pathlib import Path
from zipfile import ZipFile

from localstack.layout import EMULATOR_VENV, ROOT

HANDLER = """
import os

def handler(event, context):
    for line in event:
        print(line)
    if "fail" in event:
        raise ValueError("as it was told")
    if "die" in event:
        os._exit(1)
"""
CALLS = [["one", "two", "three"], [], ["four"], ["fail"], ["die"], ["five"]]
PROGRAM = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import emulator_program
from ministack.core.lambda_runtime import Worker

def read_late(worker):
    for line in worker._proc.stderr:
        time.sleep(0.1)
        worker._stderr_queue.put(line.rstrip("\\n"))

emulator_program.mark_ends()
emulator_program.share_packages()
Worker._read_stderr = read_late
arn = "arn:aws:lambda:us-east-1:000000000000:function:f"
config = {"Runtime": "python3.13", "Handler": "f.handler", "FunctionName": "f", "FunctionArn": arn}
worker = Worker("f", config, open(sys.argv[2], "rb").read())
print(json.dumps([worker.invoke(each, "1")["log"] for each in json.loads(sys.argv[3])]))
worker.kill()
"""


def test_each_call_has_all_that_it_prints_in_its_log(tmp_path: Path) -> None:
    """One of the calls ends its process: the next has another, with the same package."""
    code = tmp_path / "code.zip"
    with ZipFile(code, "w") as archive:
        archive.writestr("f.py", HANDLER)
    python = str(EMULATOR_VENV / "bin" / "python")
    arguments = [str(ROOT / "localstack"), str(code), json.dumps(CALLS)]
    ran = subprocess.run(
        [python, "-P", "-c", PROGRAM, *arguments],
        cwd=tmp_path,
        env={"TMPDIR": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == [
        "one\ntwo\nthree",
        "",
        "four",
        "fail",
        "die",
        "five",
    ]
    assert len(list(tmp_path.glob("unpacked-*"))) == 1
