"""The grants of the token endpoint, each in a module; `table` lists them."""
