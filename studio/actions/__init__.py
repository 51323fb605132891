"""Everything a person can tell the program, as free functions and one table of commands."""
