"""`bucketcast console`: open the deployment as web pages."""

import secrets

import click

from bucketcast.errors import BucketcastError
from bucketcast.terminal.output import Output, shared


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, help="Where to listen. [default: any free]"
)
@shared
def command(out: Output, *, port: int) -> None:
    """Show events, dead letters, rules and buckets as web pages until interrupted.

    Only this machine reaches the pages, with the token in the printed address. They use your AWS
    login, so they can do what your commands can do.

    \b
    Example:
      bucketcast console
      bucketcast console --port 9200
    """  # noqa: D301 - click reads the character
    from bucketcast.console import app  # noqa: PLC0415 - a server takes long to import
    from bucketcast.console.context import Context  # noqa: PLC0415 - as above

    context = Context(out)
    token = secrets.token_urlsafe(32)
    try:
        listener = app.listen(port)
    except OSError as error:
        raise BucketcastError(
            f"cannot listen on port {port}: {error.strerror}; choose another with --port"
        ) from None
    with listener:
        address = app.address(listener, token)
        out.answer({"address": address}, f"The console is at {address}")
        app.serve(context, token, listener)
