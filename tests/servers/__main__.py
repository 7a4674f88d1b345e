"""Start a server that stays, for the demo and by hand.

python -m tests.servers start NAME FOLDER   prints the settings to reach it as JSON, plain and tls
python -m tests.servers stop FOLDER         ends it in order
"""

import argparse
import json
import sys
from pathlib import Path

from tests import servers
from tests.servers import tls
from tests.servers.machine import MissingProgramError
from tests.servers.process import StartError, stop_server_of


def main() -> int:
    """Exit with 1 if the server is not on the machine or does not start."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers")
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start")
    start.add_argument(
        "name", choices=[name for kind in servers.kinds() for name in servers.names(kind)]
    )
    start.add_argument("folder", type=Path)
    stop = commands.add_parser("stop")
    stop.add_argument("folder", type=Path)
    options = parser.parse_args()
    folder: Path = options.folder.absolute()
    if options.command == "stop":
        stop_server_of(folder)
        return 0
    certificates = tls.issue(folder / "tls")
    try:
        server = servers.run(options.name, folder, certificates, outlives=True)
    except (MissingProgramError, StartError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    settings = {"plain": server.settings(), "tls": server.tls_settings()}
    print(json.dumps(settings, indent=2))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
