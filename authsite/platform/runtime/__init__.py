"""Small modules about the process: time, ids, cores, forks, slots, counters, spans, catalogs."""
