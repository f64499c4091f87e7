"""The pages of signing in with another provider."""
