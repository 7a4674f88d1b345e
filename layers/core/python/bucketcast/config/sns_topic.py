"""What the ARN of an SNS topic may be, wherever a table names one."""

import re
from typing import Final

PATTERN: Final = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}")
ALLOWED: Final = "the ARN of a standard SNS topic, arn:aws:sns:REGION:ACCOUNT:NAME"
