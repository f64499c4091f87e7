"""``authsite serve``: how the service runs on Granian."""
