"""Speed, as ratios measured side by side. Never part of the test command: machines are noisy."""
