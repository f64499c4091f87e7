"""The pages of groups."""
