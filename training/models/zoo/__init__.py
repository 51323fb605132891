"""The models of torchvision and timm, and published weights."""
