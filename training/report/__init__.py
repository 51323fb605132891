"""Reports and model cards: what is known of runs, as one page that needs nothing else. No torch here."""
