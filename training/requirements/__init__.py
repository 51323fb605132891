"""The environment of a run as a requirements file that pip installs by digests (``pip install --require-hashes``)."""
