"""Second factors of a user: the state that all of them share, and what a sign-in needs of it.

Each factor is a way to sign in below `authsite.sign_in.methods`.
"""
