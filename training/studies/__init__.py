"""Studies: sets of ordinary runs, or measurements, that answer one question about a configuration.

Each lies in a folder of the workspace, ``studies/ID``: its plan, which run is which part of it, and in the end its result. Started again
it goes on with what is missing.
"""
