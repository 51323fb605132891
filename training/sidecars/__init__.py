"""Processes that follow a run and bring it elsewhere: begun with the run, at the lowest priority, ended when all is there."""
