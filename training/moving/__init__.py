"""A workspace moved to another folder: what that takes, told first; a rename, or a copy that is compared; paths kept right."""
