"""Run minio-py's functional tests, unchanged, beyond the first that fails: `minio_py.py FILE`."""

import importlib.util
import sys
from contextlib import suppress
from typing import Any


def main(file: str) -> None:
    spec = importlib.util.spec_from_file_location("suite", file)
    assert spec
    assert spec.loader
    suite: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suite)
    call = suite._call_test  # it ends the run after a failure

    def call_and_go_on(*args: object, **kwargs: object) -> None:
        with suppress(suite.TestFailed):
            call(*args, **kwargs)

    suite._call_test = call_and_go_on
    suite.main()


if __name__ == "__main__":
    main(sys.argv[1])
