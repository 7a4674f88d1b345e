"""The SNS API of topics, as in Ceph RGW: `POST /` with a form, answered in XML.

`routes` recognizes a call, `form` parses it, `actions` runs it, and `responses` writes the answer.
"""
