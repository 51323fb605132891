"""What may be typed after ``python -m training``, without loading what does it: wrong words are told at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from training.arguments import Parser
from training.cli.engines_parser import add_engine_commands
from training.cli.launch_parser import add_launch
from training.cli.queue_parser import add_queue_commands
from training.cli.ranks_option import parse_count
from training.cli.sweep_words import add_sweep
from training.cli.workspace_parser import add_workspace_commands

TRACKERS = ("tensorboard", "mlflow", "wandb")
_SHARED: Mapping[str, Mapping[str, Any]] = {
    "config": {
        "metavar": "CONFIG.toml",
        "help": "a TOML file, the report of a run, or preset:NAME for one that comes with the program",
    },
    "checkpoint": {"metavar": "CHECKPOINT_DIR", "help": "a checkpoint, or a run (its best one)"},
    "--engine": {
        "metavar": "NAME|PATH",
        "dest": "on_engine",
        "help": "have it carried out by this engine, as engines list tells it, or the Python at this path",
    },
    "--ranks": {
        "metavar": "N|all",
        "type": parse_count,
        "help": "share the run among so many processes of this machine, or one for each of its GPUs",
    },
    "--profile": {
        "action": "store_true",
        "help": "profile a few seconds of steps, and tell at the end where their time went",
    },
    "--set": {
        "action": "append",
        "default": [],
        "metavar": "section.key=value",
        "dest": "overrides",
        "help": "change one setting",
    },
    "--trust": {
        "action": "store_true",
        "help": "agree to run the Python files of your own (network, teacher, Dataset, loss) that the run names, as they are now",
    },
    "--track": {
        "action": "append",
        "default": [],
        "choices": TRACKERS,
        "help": "send the run there while it trains, by a process of its own",
    },
    "--copy-to": {
        "default": "",
        "metavar": "ADDRESS",
        "help": "copy its checkpoints there while it trains, by a process of its own: s3://bucket/folder, a folder",
    },
    "--workspace": {"metavar": "DIR", "help": "where runs live"},
    "--json": {"action": "store_true", "help": "end stdout with one JSON object"},
}
"""What several commands take."""
_WHILE_HELD: Mapping[str, Any] = {"action": "store_true", "help": argparse.SUPPRESS}
"""For programs that begin a run and hold the other end of its standard input: not for people."""
_MADE: Mapping[str, Any] = {"action": "store_true", "help": argparse.SUPPRESS}
"""For runs that were made to be trained later, and for those of them whose processes are timed first where the run is long."""
_TRAINING = ("--engine", "--ranks", "--profile", "--track", "--copy-to", "--set", "--trust")
_RECORDS = ("--workspace", "--json")
STUDIES = ("seeds", "lr-range", "cv", "ablation", "batch", "speed")
EXPORTS = ("safetensors", "onnx", "openvino", "torch-export", "script", "tutorial", "accelerate")


def make_parser() -> tuple[Parser, Mapping[str, Parser]]:
    """The parser, and those of its commands by name. ``command`` of what they parse is for ``load_command``."""
    parser = Parser(prog="python -m training", description="Train PyTorch models from a TOML file.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, place: str, help_: str, *shared: str) -> Callable[..., Any]:
        """Add a command; returns what adds options of its own."""
        command = commands.add_parser(name, help=help_) if help_ else commands.add_parser(name)
        for option in shared:
            command.add_argument(option, **_SHARED[option])
        command.set_defaults(command=f"training.{place}")
        return command.add_argument

    option = add("run", "cli.train:run", "train a configuration", "config", *_TRAINING, *_RECORDS)
    untimed = "with --ranks: begin at once, where one process would be timed against several before a long run"
    option("--no-probe", action="store_true", help=untimed)

    option = add("resume", "cli.train:resume", "go on with a run", *_TRAINING, *_RECORDS)
    option("target", metavar="RUN|CHECKPOINT_DIR", help="a run's id, name or folder, or one of its checkpoints")
    option("--dry-run", action="store_true", help="say what would be restored, changed and ignored, and train nothing")
    branch = "make a new run of it, and leave this one, with all that came later, as it is"
    option("--branch", action="store_true", help=branch)
    option("--while-held", **_WHILE_HELD)
    option("--made", **_MADE)
    option("--timed", **_MADE)

    option = add("check", "cli.check:check", "look for problems without training", "--set", "--trust", *_RECORDS)
    machine = f"{_SHARED['config']['help']}; without it the check is of this machine: torch, its devices, shared memory"
    option("config", nargs="?", metavar="CONFIG.toml", help=machine)
    mends = "write the configuration with what the finding of this code proposes to the file of --out; CODE:PLACE for one of several"
    option("--fix", action="append", default=[], metavar="CODE", help=mends)
    hides = (
        "leave out findings of this code, or CODE:PLACE; with --out they are left out of every check of the new file"
    )
    option("--mute", action="append", default=[], metavar="CODE", help=hides)
    every = "compare all samples with each other, however many there are, instead of some that are drawn by chance"
    option("--whole", action="store_true", help=every)
    option("--out", metavar="NEW.toml", help="where --fix and --mute write: a file that is not there yet")
    learns = "train on some samples only, until they are known by heart (20 seconds at most); where that fails, try what may be the reason"
    option("--fit-one-batch", action="store_true", help=learns)

    told = "time some seconds of a run's steps in one process and in several: is it worth while to share it?"
    option = add("scaling", "cli.scaling:scale", told, "config", "--ranks", "--set", "--trust", *_RECORDS)
    option("--while-held", **_WHILE_HELD)

    told = "write a checkpoint's model, or a run as a script, for use elsewhere"
    option = add("export", "cli.export:export", told, "--set", "--trust", *_RECORDS)
    wanted = "a checkpoint, or a run (its best one); for tutorial and accelerate a TOML file or preset:NAME will do"
    option("checkpoint", metavar="CHECKPOINT_DIR|CONFIG", help=wanted)
    divides = "divide the scores of classes or labels by it before they become probabilities; auto: by what fits the validation part best"
    formats = "script: the very run, to the bit. tutorial: the same run as a short script to read. accelerate: that, by Accelerate"
    option("--to", required=True, choices=EXPORTS, help=formats)
    option("--out", required=True, type=Path, metavar="PATH")
    option("--temperature", metavar="auto|NUMBER", help=divides)
    reached = "the probability from which on the answer is yes, or a label is told (several: one for each label, with commas); auto: that of the best F1 on the validation part"
    option("--threshold", metavar="auto|NUMBER", help=reached)
    eighth = "onnx and openvino: weights of 8 bits instead of 32. Images: activations by ranges of training samples; others: weights, and activations as they come"
    option("--quantize", choices=("int8",), help=eighth)
    option("--large-data", action="store_true", help="let the samples beside a script take more than 2 GB")

    told = "prove an exported file once more, anywhere: it needs numpy, onnxruntime and pillow, and no torch"
    option = add("verify", "cli.verify:verify", told, "--json")
    option("file", type=Path, metavar="FILE", help="an exported file, or its folder")
    runs = "agree to run the Python files that lie beside it: preprocess.py, and the model.py of safetensors and torch-export"
    option("--trust", action="store_true", help=runs)

    told = "measure a checkpoint on data, sample by sample: metrics with intervals, and what it answered to each sample"
    option = add("evaluate", "cli.evaluate:evaluate", told, "checkpoint", "--trust", *_RECORDS)
    where = (
        "validation, test or train: a part of the run's data (validation); or a file or folder of the same kind as that"
    )
    option("--on", default="validation", metavar="PART|PATH", help=where)
    option("--again", action="store_true", help="compute it once more, though it was computed before")
    matters = "tell which columns of a table matter, too: what the metric loses when each is shuffled among the samples"
    option("--importance", action="store_true", help=matters)

    told = "tell which of several runs or checkpoints is better, by what they answer to the same samples"
    option = add("compare", "cli.compare:compare", told, "--trust", *_RECORDS)
    option("runs", nargs="+", metavar="RUN|CHECKPOINT_DIR", help="two or more; the others are compared with the first")
    option("--on", default="validation", metavar="PART|PATH", help=where)

    told = (
        "write a run, an evaluation, or several runs beside each other as one HTML page, from which run begins it again"
    )
    option = add("report", "cli.report:report", told, "--trust", *_RECORDS)
    option("runs", nargs="+", metavar="RUN|EVALUATION", help="runs, or the folder of one evaluation")
    option(
        "--out", type=Path, metavar="FILE.html", help="where to write it (by default report.html in the run's folder)"
    )
    option(
        "--evaluate", action="store_true", help="evaluate the best checkpoint of each first, where that was not done"
    )

    told = "draw the decision boundary of a run over points in the plane, validation by validation"
    option = add("boundary", "cli.boundary:draw_boundary", told, *_RECORDS)
    option("run", metavar="RUN", help="a run's id, name or folder")
    option(
        "--out", required=True, type=Path, metavar="PATH", help="a .gif file, or a folder for a PNG of each validation"
    )
    option("--rate", type=float, default=10.0, metavar="N", help="frames per second of the animation (10)")

    told = "let a trained language model go on with a text"
    option = add("generate", "cli.generate:run_generate", told, "checkpoint", "--trust", *_RECORDS)
    option("--prompt", default="\n", metavar="TEXT", help="what to go on with; by default a line break")
    option("--tokens", type=int, default=500, metavar="N", help="how many tokens to add (500)")
    temperature = "1 draws tokens as often as the model expects them, less prefers likely ones, 0 always takes the likeliest (0.8)"
    option("--temperature", type=float, default=0.8, metavar="T", help=temperature)
    option("--top-k", type=int, metavar="K", help="draw from the K likeliest tokens only")
    nucleus = "draw from the likeliest tokens only that together have the probability P (nucleus sampling)"
    option("--top-p", type=float, metavar="P", help=nucleus)
    option("--seed", type=int, default=0, metavar="S", help="the same seed gives the same text (0)")

    told = "tell what a trained model says of images, rows of a table, or text"
    option = add("predict", "cli.predict:predict", told, "--trust", *_RECORDS)
    wanted = "a checkpoint, a run (its best one), or the folder of an export"
    option("checkpoint", metavar="CHECKPOINT_DIR|EXPORT", help=wanted)
    files = "images and folders of images, tables (CSV, Parquet), or text files; - is a text or table on standard input"
    option("files", metavar="FILES", nargs="+", help=files)
    option("--to", type=Path, metavar="FILE", help="write a table to a .csv, .parquet or .json file instead")
    option(
        "--masks",
        type=Path,
        metavar="FOLDER",
        help="of a model that answers masks, write each there as a PNG of class numbers",
    )

    told = "train the references' laboratory in seven steps and write a report"
    option = add("lab", "laboratory.command:run_lab", told, "--set", *_RECORDS)
    data = "MNIST or FashionMNIST files (idx); without it, shapes are drawn on the spot"
    option("--data", metavar="FOLDER", help=data)
    option("--out", metavar="FOLDER", help="where the report is written (by default laboratory in the workspace)")
    share = (
        "train on this part of the data; the seven runs on 0.1 of MNIST stay under ten minutes on two cores that have "
        "instructions for BF16"
    )
    option("--share", type=float, default=1.0, metavar="PART", help=share)
    compare = (
        "also measure over five seeds what weight decay on biases does, and BF16 beside FP16 where the device has both"
    )
    option("--compare", action="store_true", help=compare)
    wrong = "instead show what eight lines of a training loop do in the wrong place, beside the right one"
    option("--wrong-order", action="store_true", help=wrong)

    told = (
        "put samples of a run on an exclude list, by the numbers that its evaluations give them (see dataset.exclude)"
    )
    option = add("exclude", "cli.exclude:exclude", told, *_RECORDS)
    option("run", metavar="RUN", help="a run's id, name or folder")
    option("samples", metavar="NUMBER", type=int, nargs="+", help="a sample's number in the data")
    option("--list", required=True, type=Path, metavar="FILE", help="the list, which is made where there is none")
    option("--remove", action="store_true", help="take them off the list instead")

    told = "find labels that are probably wrong, by confident learning"
    option = add("labels", "cli.labels:find_labels", told, "--trust", *_RECORDS)
    option("run", metavar="RUN", help="a run's id, name or folder")
    where = (
        "validation (the usual one) or test: at once, from an evaluation of the run's best checkpoint; train: by runs of the same "
        "configuration, each trained without a part of the samples, which it judges then"
    )
    option("--on", default="validation", choices=("validation", "test", "train"), help=where)
    option("--folds", type=int, default=5, metavar="K", help="how many runs judge the training part (5)")
    option("--while-held", **_WHILE_HELD)

    told = "prove the fix of a finding, or settings given with --set: some steps from a checkpoint with them and without, on the same batches"
    option = add("prove", "cli.prove:prove", told, "--set", "--trust", *_RECORDS)
    option("run", metavar="RUN", help="a run's id, name or folder")
    option("code", metavar="CODE", nargs="?", help="the finding's code, or CODE:PLACE for one of several")
    option("--steps", type=int, metavar="K", help="steps of each arm (two validations' worth, within two minutes)")
    option("--orders", type=int, default=3, metavar="N", help="on how many orders of the data (3)")
    option("--yes", action="store_true", help="begin without asking")
    option("--while-held", **_WHILE_HELD)

    told = (
        "answer a question about a configuration by a set of runs, resumable: seeds (how far runs lie apart by chance), lr-range (which "
        "learning rate), cv (cross-validation), ablation (which settings pay), batch (which batch size), speed (what makes steps faster)"
    )
    option = add("study", "cli.studies:study", told, "--set", "--trust", *_RECORDS)
    option("kind", metavar="KIND", nargs="?", choices=STUDIES, help=f"one of {', '.join(STUDIES)}")
    option("config", metavar="CONFIG.toml", nargs="?", help=_SHARED["config"]["help"])
    option("--resume", metavar="ID", help="go on with a study: its id, or the beginning of it")
    option("--list", action="store_true", help="list the studies of the workspace instead")
    later = "make the study and tell what it takes, and leave it at that; --resume begins it"
    option("--plan", action="store_true", help=later)
    option("--seeds", type=int, metavar="N", help="how many seeds")
    compared = "seeds: compare with this setting, too, by pairs of one seed; may be given several times"
    option("--against", action="append", default=[], metavar="section.key=value", help=compared)
    option("--steps", type=int, metavar="N", help="lr-range: steps over all rates (200)")
    option("--trial-steps", type=int, metavar="N", help="lr-range: steps of each trial (200)")
    alone = "ablation, speed: only this setting; may be given several times"
    option("--only", action="append", default=[], metavar="section.key", help=alone)
    option("--folds", type=int, metavar="K", help="cv: how many folds (5)")
    divides = "cv: by what the folds are divided; auto: groups where the data has them, else time, else classes"
    option("--by", choices=("auto", "class", "group", "time"), help=divides)
    option(
        "--band", type=float, nargs=2, metavar=("LOW", "HIGH"), help="lr-range: the rates, by default by the optimizer"
    )
    option(
        "--out",
        metavar="NEW.toml",
        help="write the configuration with what is proposed to a file that is not there yet",
    )
    option("--yes", action="store_true", help="begin without asking")
    option("--measure", action="store_true", help=argparse.SUPPRESS)  # how a study begins what measures for it
    option("--while-held", **_WHILE_HELD)
    add("sweep", "cli.sweep:work_sweep", "try other settings of a configuration, as Optuna proposes them")
    add_sweep(commands.choices["sweep"], _SHARED)
    add("workspace", "cli.workspace:move", "move the folder that runs live in to another place")
    add_workspace_commands(commands.choices["workspace"], _SHARED)
    add("queue", "cli.queue:show", "queue runs, and train them one after the other, tonight")
    add_queue_commands(commands.choices["queue"], _SHARED)

    told = "have a run trained by many machines: write a script for Slurm and submit it, or a file for Kubernetes or SkyPilot"
    add("launch", "cli.launch:launch", told, "--engine", "--set", "--trust", *_RECORDS)
    add_launch(commands.choices["launch"])

    add("engines", "cli.engines:list_engines", "list, try, add, install and remove the Pythons that can train here")
    add_engine_commands(commands.choices["engines"], _SHARED)

    add("presets", "presets.command:list_presets", "list the configurations that come with the program", "--json")
    option = add("runs", "cli.index:list_runs", "list all runs", *_RECORDS)
    best = "tell instead which epoch of all runs is the best by METRIC (val/accuracy), and where its checkpoint lies"
    option("--best", metavar="METRIC", help=best)
    option(
        "--dataset",
        metavar="TEXT",
        help="with --best: only runs on data of this kind (idx), or with this in their path",
    )
    option("--name", metavar="NAME", help="with --best: only runs of this name")
    where = """only runs that FILTER is true of: 'val/accuracy > 0.9 and lr < 1e-3 and "cosine" in schedule.kind', or words to look for"""
    option("--where", metavar="FILTER", help=where)
    option(
        "--data",
        metavar="FINGERPRINT",
        help="only runs on these very data; show RUN tells it, and its beginning will do",
    )
    option("--all", action="store_true", help="list archived runs, too")
    option = add("show", "cli.records:show_run", "tell everything about one run", *_RECORDS)
    option("run", metavar="RUN")
    option("--csv", action="store_true", help="write the curves as a table to stdout instead: a row for each step")
    option("--parquet", type=Path, metavar="FILE", help="write the same table to a Parquet file")
    option("--epochs", action="store_true", help="with --csv or --parquet: a row for each epoch")

    told = "tell what is wrong with a run by what it has recorded, finished or still working, and change nothing"
    option = add(
        "doctor",
        "cli.doctor:judge_run",
        f"{told}; exit code 0: nothing above a note, 1: a warning, 2: an error",
        *_RECORDS,
    )
    option("run", metavar="RUN", help="a run's id, name or folder")
    told = "compute a skipped step again to the bit (the first, or STEP), and name what produced NaN or infinity; exit code 1"
    option("--trace", type=int, nargs="?", const=0, metavar="STEP", help=told)
    option("--while-held", **_WHILE_HELD)

    told = "tell or change what you say of a run: its name in lists, a star, tags, notes, whether it is archived"
    option = add("about", "cli.about:tell_about", told, *_RECORDS)
    option("run", metavar="RUN", help="a run's id, name or folder")
    option("--name", metavar="NAME", help='what it is called; "" gives the name in its configuration back')
    option("--tag", action="append", default=[], metavar="TAG", help="add a tag; may be given several times")
    option("--untag", action="append", default=[], metavar="TAG", help="take a tag off it; may be given several times")
    switch = argparse.BooleanOptionalAction
    option("--star", action=switch, help="mark it with a star, or take the star off it")
    option("--note", metavar="TEXT", help='replace the notes; "" removes them, - reads them from standard input')
    option("--archive", action=switch, help="leave it out of lists, or have it listed again; its folder stays")

    told = "bring back what a run set aside when it went back to a checkpoint"
    option = add("restore", "cli.restore:restore_set_aside", told, *_RECORDS)
    option("run", metavar="RUN", help="a run's id, name or folder")
    option("name", metavar="NAME", nargs="?", help="what to bring back, as --list calls it; else the newest")
    either = commands.choices["restore"].add_mutually_exclusive_group().add_argument
    either("--list", action="store_true", dest="only_list", help="tell what is set aside, and change nothing")
    either("--clear", action="store_true", help="delete it for good instead, all of it where no NAME is given")

    option = add("index", "cli.index:show_index", "tell where the index of runs is, or migrate its tables", *_RECORDS)
    option(
        "--schema",
        metavar="REVISION",
        choices=("0001", "0002", "0003"),
        help="bring its tables up or down to this revision",
    )
    told = "write what a run was computed with as a requirements file, each package with its digests"
    option = add("lock", "cli.lock:lock_run", told, *_RECORDS)
    option("run", metavar="RUN", help="a run's id, name or folder")
    option("--out", type=Path, metavar="FILE", help="where to write it; by default it goes to stdout")

    told = "send a run to TensorBoard, MLflow or Weights & Biases, as far as it is not there yet"
    option = add("track", "cli.track:track_run", told, *_RECORDS)
    option("run", metavar="RUN", nargs="?", help="a run's id, name or folder")
    option("--to", action="append", default=[], choices=TRACKERS, help="by default those of trackers.toml")
    option("--status", action="store_true", help="tell what each tracker has and what waits, and send nothing")
    option("--test", choices=TRACKERS, help="send nothing, and ask this tracker whether it is there and takes the key")
    option("--settings", choices=("-",), help=argparse.SUPPRESS)  # with --test: JSON on stdin instead of trackers.toml
    option("--follow", action="store_true", help=argparse.SUPPRESS)  # how a run begins it

    told = "tell which keys of servers are known, or keep one in the system's keyring: it is asked for, or read from a pipe"
    option = add("key", "cli.keys:manage_keys", told, "--json")
    option("name", metavar="NAME", nargs="?", help="as the environment calls it: WANDB_API_KEY, AWS_ACCESS_KEY_ID ...")
    option("--remove", action="store_true", help="take it out of the keyring")

    told = "copy a run to object storage or another folder, as far as it is not there yet"
    option = add("copy", "cli.copies:copy_run", told, *_RECORDS)
    option("run", metavar="RUN", nargs="?", help="a run's id, name or folder")
    where = "s3://bucket/folder, a folder, or what else fsspec knows; by default where it was copied to before, or copies.toml says"
    option("--to", default="", metavar="ADDRESS", help=where)
    told = "copy nothing, and write a small file there, read it back and delete it; by default where copies.toml says"
    option("--test", nargs="?", const="", metavar="ADDRESS", help=told)
    option("--follow", action="store_true", help=argparse.SUPPRESS)  # how a run begins it

    option = add("fetch", "cli.copies:fetch_run", "bring a run back from its copy", *_RECORDS)
    option("address", metavar="ADDRESS", help="the copy of one run: s3://bucket/folder/RUN")

    add("schema", "cli.records:print_schema", "print the JSON Schema of configurations")
    add("serve", "engine_process:serve_standard_streams", "")  # the window's engine process; not for people
    return parser, commands.choices


def load_command(arguments: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    """Import what does the command that was asked for: a function of ``arguments`` that returns the exit code."""
    module, _, name = arguments.command.partition(":")
    found: Callable[[argparse.Namespace], int] = getattr(import_module(module), name)
    return found
