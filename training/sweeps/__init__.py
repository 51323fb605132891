"""Sweeps: trials of one configuration with other settings, proposed by Optuna, each an ordinary run of the workspace."""
