"""What becomes of an event by PostgreSQL's SQLSTATEs or their classes."""

from collections.abc import Sequence

from bucketcast.targets.base import iam
from bucketcast.targets.base.answers import Answers, Verdict, codes_of, of_connections
from bucketcast.targets.base.database import FULL, OTHER_INDEX, OTHER_TABLE, ROW


def _describe(error: BaseException) -> tuple[str, Sequence[str]]:
    fields = error.args[-1] if error.args else None
    if isinstance(fields, dict) and (code := fields.get("C")):  # an ErrorResponse of the server
        return f"{' '.join(str(fields.get('M', '')).split())} ({code})", [code, code[:2]]
    # pg8000 hides the socket's error, or the end of the connection, behind one of its own.
    cause = error.__cause__ or error
    text = str(cause).replace("network error", "the server closed the connection")
    return text or repr(cause), codes_of(cause)


ANSWERS = Answers(
    Verdict.ROW("22P05", "the table needs a database in UTF8", "has no equivalent"),
    Verdict.EVENT("22007 22008 22021 22P05"),
    Verdict.EVENT("22P02", "", "type json"),
    Verdict.ROW("23505", OTHER_INDEX),
    Verdict.ROW("42501", ROW, "row-level security"),
    Verdict.ROW("09 20 21 22 23 27 2F 38 44 54 P0", ROW),
    Verdict.SETTINGS("3D", "make the database, or name another in connection_string"),
    Verdict.SETTINGS("3F", "make the schema, or set search_path in connection_string"),
    Verdict.LOGIN("42501", "grant it to the user of connection_string"),
    Verdict.SETTINGS("42601", 'put a table named as a word of SQL in "quotes"'),
    Verdict.SETTINGS("42704", "leave it out of connection_string"),
    Verdict.SETTINGS("42", OTHER_TABLE),
    Verdict.LOGIN("28", iam.HINT, "PAM"),  # by which RDS checks tokens
    Verdict.LOGIN("28"),
    Verdict.AWAY(
        "25006",
        "the server takes no writes: list all hosts in connection_string, and "
        "target_session_attrs=read-write finds the one that does",
    ),
    Verdict.AWAY("53300", FULL),
    Verdict.LOCKED("55P03", "another session holds a lock for long"),
    Verdict.SILENT("57014", "is it overloaded? Or another session holds a lock for long"),
    Verdict.AWAY("08 25P03 57"),
    Verdict.AWAY("XX", "set channel_binding=disable", "could not find digest"),
    Verdict.AGAIN("02 03 0A 0B 0F 0L 0P 0Z 10 24 25 26 2B 2D 34 39 3B 40 53 55 58 72 F0 HV XX"),
    connections=(
        *of_connections(
            "the server", "connection_string", "does sslmode in connection_string suit the port?"
        ),
        Verdict.LOGIN("ScramException"),
        Verdict.AWAY("Error", "does it want another client certificate? See client_cert"),
        Verdict.AWAY(
            "IndexError KeyError MemoryError ValueError error",
            "what answers there is not PostgreSQL: see connection_string",
        ),
    ),
    describe=_describe,
)
