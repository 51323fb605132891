"""What every floor needs of the machine: whole files, processes, locks, memory, files of strangers, words for numbers."""
