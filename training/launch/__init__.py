"""A run that a cluster trains: its folder is made here, on a disk that the cluster's machines share, with the file that the cluster takes."""
