"""The SNS API of topics, as in Ceph RGW: `POST /` with a form, answered in XML.

`api` recognizes and runs a call, `form` parses it, and `responses` writes the answer.
"""
