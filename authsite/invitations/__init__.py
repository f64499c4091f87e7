"""Invitations: a mailed link that registers its recipient, also where registration is closed."""
