"""The protocol with another provider: OpenID Connect, and OAuth 2.0 of GitHub."""
