"""The part of S3's API that is answered here."""
