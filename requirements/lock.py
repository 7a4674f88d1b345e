"""Write the pinned files from pyproject.toml: `make lock`, or `make lock PACKAGE="name …"`.

`make lock` upgrades everything, but takes no release younger than a week: most bad ones are found
and withdrawn by then. With names, the newest releases of these packages are taken, and the others
stay as they are.

One resolution (dev.txt) decides all versions; the other files are cuts of it, so what the tests ran
with is what the layers carry. The local AWS and the AWS CLI resolve by themselves, for each pins
versions of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Pinned from pyproject.toml by `make lock`; change that file, not this one.\n"
DEV = Path("requirements/dev.txt")
CDK = "cdk"
"""The extra that is no kind of target."""
AGE = "7 days"
"""The age of a release before it is used."""


def main() -> int:
    """Compile dev.txt first: the others take it as their constraint."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    extras.pop(CDK)
    clients = [part for kind in extras for part in ("--extra", kind)]
    everything = ["pyproject.toml", "--all-extras", "-"]
    # The build backend too, so that installing bucketcast itself fetches nothing unpinned.
    build = [*project["build-system"]["requires"], "editables"]
    compile_to(DEV, [*everything, "--group", "dev"], stdin=build)
    deploy = Path("requirements/deploy.txt")
    compile_to(deploy, everything, within=DEV, stdin=build)
    tests = Path("requirements/tests.txt")
    compile_to(tests, ["pyproject.toml", "-", "--group", "tests"], within=DEV, stdin=build)
    spark = Path("requirements/spark.txt")
    compile_to(spark, [*everything, "--group", "spark"], within=DEV, stdin=build)
    older = Path("requirements/spark-3.5.txt")
    groups = ["--group", "tests", "--group", "spark-3-5"]
    compile_to(older, ["pyproject.toml", *clients, "-", *groups], stdin=build)
    compile_to(Path("layers/shared/requirements.txt"), ["--group", "shared"], within=DEV)
    compile_to(Path("layers/gateway/requirements.txt"), ["--group", "gateway"], within=DEV)
    compile_to(Path("layers/jobs/requirements.txt"), ["--group", "jobs"], within=DEV)
    example = Path("examples/thumbnailer/requirements.txt")
    compile_to(example, ["--group", "thumbnailer"], within=DEV)
    for kind, wanted in extras.items():
        client = Path(f"layers/clients/{kind}/requirements.txt")
        compile_to(client, ["-"], within=DEV, stdin=wanted)
    compile_to(Path("localstack/requirements.txt"), ["--group", "localstack"])
    compile_to(Path("requirements/lambda.txt"), ["--group", "lambda"], within=DEV)
    compile_to(Path("requirements/uv.txt"), ["-"], within=DEV, stdin=["uv"])
    compile_to(Path("requirements/aws-cli.txt"), ["--group", "aws-cli"])
    compile_to(Path("requirements/sbom.txt"), ["--group", "sbom"])
    return 0


def compile_to(
    target: Path, source: list[str], within: Path | None = None, stdin: list[str] | None = None
) -> None:
    """Resolve `source` for every platform and Python from the floor up: hashes, no addresses."""
    path = ROOT / target
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "uv", "pip", "compile", *source, "--output-file", str(path)]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes"]
    command += ["--no-emit-index-url", "--no-emit-find-links", "--no-header", "--no-annotate"]
    command += ["--quiet", "--constraints", str(within)] if within else ["--quiet"]
    named = [word for name in sys.argv[1:] for word in ("--upgrade-package", name)]
    command += named or ["--upgrade", "--exclude-newer", AGE]
    answer = subprocess.run(
        command, cwd=ROOT, input="\n".join(stdin or []), capture_output=True, text=True, check=False
    )
    if answer.returncode:
        sys.exit(f"{target}: the requirements do not fit together\n{answer.stderr}")
    pinned = path.read_text()
    path.write_text(HEADER + pinned)
    print(target, f"{pinned.count('==')} packages")


if __name__ == "__main__":
    raise SystemExit(main())
