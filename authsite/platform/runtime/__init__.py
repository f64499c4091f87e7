"""Small modules of a process: time, ids, cores, forks, slots, counters, spans, catalogs, folder."""
