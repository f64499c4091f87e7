"""What ``authsite doctor`` checks, and the console shows: settings, database, keys, providers."""
