"""A run's numbers sent to TensorBoard, MLflow and Weights & Biases by a process of its own, which only reads the run's files."""
