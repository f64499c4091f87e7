"""Clients that a document describes, whose URL is their ``client_id``.

OAuth Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document). A document is
fetched at the authorization endpoint alone, for a signed-in user; everything else reads the row.
"""
