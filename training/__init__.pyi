from training.notebook import load_config as load_config
from training.notebook import load_model as load_model
from training.notebook import predict as predict
from training.notebook import resume as resume
from training.notebook import run as run

__version__: str
