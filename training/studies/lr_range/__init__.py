"""The learning-rate range test (L. N. Smith, "Cyclical Learning Rates for Training Neural Networks", 2017, arXiv:1506.01186), replicated,
and its suggestion tried out."""
