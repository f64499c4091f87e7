"""What an installation records about itself in its database, so that a wrong set-up is noticed."""
