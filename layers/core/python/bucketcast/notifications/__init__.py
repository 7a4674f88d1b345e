"""A bucket's notifications: the document that S3 keeps, and the rules that we keep."""
