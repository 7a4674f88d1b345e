"""`bucketcast gateway`: the control plane and the way to S3, at one address."""

import click

from bucketcast.cli.screen import Screen, shared
from bucketcast.control.sns.secure import CHOICES, SecureCalls
from bucketcast.errors import BucketcastError
from bucketcast.store import deployed

PORT = 9100


class NoAddressError(BucketcastError):
    """The address names one program's, or none of this machine."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    default=PORT,
    envvar="GATEWAY_PORT",
    show_default=True,
    show_envvar=True,
)
@click.option(
    "--domain",
    "domains",
    multiple=True,
    default=["localhost"],
    show_default=True,
    metavar="DOMAIN",
    help="BUCKET.DOMAIN in a URL names the bucket; may be given again.",
)
@click.option(
    "--secure",
    type=click.Choice(CHOICES),
    default="never",
    envvar="GATEWAY_SECURE",
    show_default=True,
    show_envvar=True,
    help="Which calls count as sent over HTTPS, so that topics with passwords are taken and shown: "
    "those that a proxy in front says so of (X-Forwarded-Proto), or all.",
)
@shared
@click.pass_obj
def command(
    screen: Screen, host: str, *, port: int, domains: tuple[str, ...], secure: SecureCalls
) -> None:
    """Serve one address for mc, minio-py and boto3, until interrupted.

    Calls are signed by users of `bucketcast user add`. Bucket notifications and topics are answered
    here; every other S3 call goes on to S3, signed anew with the ordinary AWS environment.

    \b
    Example:
      bucketcast gateway --port 9100
      mc alias set local http://127.0.0.1:9100 ACCESS_KEY SECRET_KEY
    """  # noqa: D301 - click reads the character
    from bucketcast.control.served import serve  # noqa: PLC0415 - a server takes long to import

    there = deployed.find(screen.stack, screen.aws())
    try:
        serve(there, screen.aws(), host=host, port=port, domains=domains, secure_calls=secure)
    except OSError as error:
        raise NoAddressError(
            f"cannot listen at {host}:{port}: {error.strerror}; --port or GATEWAY_PORT names one"
        ) from None
