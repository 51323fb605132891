"""The engine as the window sees it: hosts, the run monitor and the states of a run. Nothing above this package knows where the work happens."""
