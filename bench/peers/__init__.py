"""authsite beside other authentication services, measured by the same program in one run."""
