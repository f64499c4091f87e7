"""Running the service: logging, and later health and metrics."""
