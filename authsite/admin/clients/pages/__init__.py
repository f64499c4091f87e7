"""The pages of clients."""
