"""What a run can be told: the only description of every setting.

The form, the command line, the TOML file, validation messages, the diff and the schema are derived from these classes.
"""

from training.config.files import apply_overrides, dump_config, load_config, parse_config, save_config
from training.config.run import RunConfig

__all__ = ["RunConfig", "apply_overrides", "dump_config", "load_config", "parse_config", "save_config"]
