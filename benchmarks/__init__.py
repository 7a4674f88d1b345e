"""Every figure that the README quotes comes from here."""

import os

# Node 20 works; CDK's banner about its end of life would stand in the tables.
os.environ["JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"] = "20"
