"""`bucketcast gateway`: the gateway and a proxy to S3, at one address."""

import click

from bucketcast.errors import BucketcastError
from bucketcast.terminal.output import Output, shared
from bucketcast.web.secure import CHOICES, SecureCalls

PORT = 9100


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
    help="Accept BUCKET.DOMAIN as host name; may be repeated.",
)
@click.option(
    "--secure",
    type=click.Choice(CHOICES),
    default="never",
    envvar="GATEWAY_SECURE",
    show_default=True,
    show_envvar=True,
    help="Which calls count as HTTPS, so that topics with passwords are accepted and shown: those "
    "marked by a proxy in front (X-Forwarded-Proto), or all.",
)
@shared
def command(
    out: Output, host: str, *, port: int, domains: tuple[str, ...], secure: SecureCalls
) -> None:
    """Serve one address for mc, minio-py and boto3 until interrupted.

    Users made by `bucketcast user add` sign the calls. The gateway answers calls about bucket
    notifications and topics itself, and forwards every other S3 call to S3, signed with its own AWS
    credentials.

    \b
    Example:
      bucketcast gateway --port 9100
      mc alias set local http://127.0.0.1:9100 ACCESS_KEY SECRET_KEY
    """  # noqa: D301 - click reads the character
    from bucketcast.gateway.server import serve  # noqa: PLC0415 - a server takes long to import

    deployment, aws = out.deployed()
    try:
        serve(deployment, aws, host=host, port=port, domains=domains, secure_calls=secure)
    except OSError as error:
        raise BucketcastError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port or "
            "GATEWAY_PORT"
        ) from None
