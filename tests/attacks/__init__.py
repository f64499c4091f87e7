"""Attacks that we run on ourselves; docs/attack-suite.md describes them."""
