"""Runs that wait for their turn: kept in files of the workspace, worked off one after the other by one process for each device.

``queue/queue.json`` of the workspace says what waits in which order and what became of it; ``queue/entries/ID`` is as a run's folder
before it is begun: the configuration as it was when it was queued, and copies of the code and the exclude list that it names. Every
change replaces ``queue.json`` as a whole while a lock is held, so a kill at any moment leaves it as it was before or after, and
several processes (window, command line, workers) may write. A run's id is noted before its folder counts as a run; so an entry never
has two, and the next worker goes on with that very run.
"""
