"""The command palette: every action, setting, run and page of the help, found by any of its words."""
