"""The second factors of the signed-in user: the API below /v1/user/."""
