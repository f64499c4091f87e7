"""The authorization endpoint and its pages: who signs in to which application, and consent."""
