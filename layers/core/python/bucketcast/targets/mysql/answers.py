"""What becomes of an event by the numbers of MySQL's and MariaDB's errors.

Source: the error references of MySQL 8.4 and of MariaDB; numbers from 1900 to 1999 and from 4000
on are MariaDB's own, those below 1900 mean the same in both.
"""

from collections.abc import Sequence

from bucketcast.targets.base.answers import Answers, Verdict, codes_of, of_connections
from bucketcast.targets.base.database import FULL, OTHER_INDEX, OTHER_TABLE, ROW

LOCK_WAIT_TIMEOUT = 1205
NO_SUCH_TABLE = 1146
PARSE_ERROR = 1064


def number(error: BaseException) -> int:
    """Return the error's number; 0 if the client library gave it none."""
    code = error.args[0] if error.args else 0
    return code if isinstance(code, int) else 0


def _describe(error: BaseException) -> tuple[str, Sequence[str]]:
    code, codes = number(error), codes_of(error)
    text = " ".join(str(error.args[-1] if error.args else error).split())
    if code and "MySQLError" in codes:
        return f"{text} ({code})", [str(code)]
    return text or "the server closed the connection", codes


ANSWERS = Answers(
    Verdict.EVENT("1292", "", "Incorrect datetime value"),
    Verdict.EVENT("3140 3157"),
    Verdict.ROW("1022 1062 1169 1586", OTHER_INDEX),
    Verdict.ROW(
        "1048 1118 1216 1217 1242 1264 1265 1292 1339 1365 1366 1367 1369 1406 1411 1441 1451 1452"
        " 1526 1644 1690 3141 3143 3819 4025",
        ROW,
    ),
    Verdict.SETTINGS("1046", "name it in dsn_string, or write table as database.table"),
    Verdict.SETTINGS("1049", "make the database, or name another in dsn_string"),
    Verdict.SETTINGS("1036 1054 1136 1146 1288 1348 1356 1364", OTHER_TABLE),
    Verdict.SETTINGS(
        "3098 3750", "make the table with a primary key, as id BIGINT AUTO_INCREMENT PRIMARY KEY"
    ),
    Verdict.LOGIN("1044 1142 1143 1227 1370", "grant it to the user of dsn_string"),
    Verdict.LOGIN("1045 1698", "{login}"),
    Verdict.LOGIN("1130", "make a user that may come from this host"),
    Verdict.LOGIN("1820 1862", "the user's password has expired"),
    Verdict.LOGIN("1251 1275 1524 2049 2059 2061", "the server asks for an unsupported login"),
    Verdict.LOGIN("3118 3955 4151", "the user is locked"),
    Verdict.AWAY("1040 1203 1226", FULL),
    Verdict.AWAY("1129", "the server blocked this host after errors: FLUSH HOSTS there"),
    Verdict.AWAY("1290 1792 1836", "the server takes no writes: dsn_string names it"),
    Verdict.AWAY("2026", "without TLS at the server, tls=false in dsn_string connects"),
    Verdict.AWAY("3159", "the server takes TLS only: tls=true in dsn_string"),
    Verdict.AWAY("1042 1043 1047 1053 1077-1081 1135 1152 1154-1161 1184 1189 1190 1927 2005 3169"),
    Verdict.LOCKED("1205", "another transaction holds a lock for long"),
    Verdict.SILENT("1969 3024", "is the server overloaded, or its limit low?"),
    Verdict.HALVE("1153 1301", "let the server take more by max_allowed_packet"),
    Verdict.AGAIN("1665", "the server needs binlog_format=ROW or MIXED"),
    Verdict.AGAIN(
        "1000-1021 1023-1035 1037-1039 1041 1050-1052 1055-1061 1063-1076 1082-1128 1131-1134"
        " 1137-1141 1144 1145 1147-1151 1162-1168 1170-1183 1185-1188 1191-1202 1204 1206-1215"
        " 1218-1225 1228-1250 1252-1263 1266-1274 1276-1287 1289 1291 1293-1300 1302-1347 1349-1355"
        " 1357-1363 1365 1368 1371-1405 1407-1410 1412-1450 1453-1468"
    ),
    connections=(
        Verdict.SILENT("2003 2006 2013", "", "timed out"),
        *of_connections(
            "the server", "dsn_string", "does tls in dsn_string suit the port?", "2003 2006 2013"
        ),
        Verdict.AWAY("2006 2013", "does it want another client certificate? See client_cert"),
        Verdict.AWAY("2000-2072 MySQLError"),
        Verdict.AWAY(
            "IndexError TypeError ValueError error", "is what answers there MySQL? See dsn_string"
        ),
    ),
    describe=_describe,
)
