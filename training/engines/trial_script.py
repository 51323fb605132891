"""What a Python says about itself as an engine. Runs in that Python, whatever its age and packages: stdlib only, old syntax.

Standard input is a JSON object: ``packages`` are the names whose versions are wanted. Each line that begins with "TRIAL "
on standard output is a JSON object of what is known by then, so that a crash in torch leaves what came before it.
"""

import json
import os
import platform
import sys

SIZE = 256


def main():
    asked = json.loads(sys.stdin.read() or "{}")
    # torch and what it loads may print; nothing of that may get between our lines.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(**facts):
        out.write("TRIAL " + json.dumps(facts) + "\n")
        out.flush()

    tell(python=platform.python_version(), bits=64 if sys.maxsize > 2**32 else 32, machine=platform.machine())
    tell(prefix=sys.prefix, base=getattr(sys, "base_prefix", sys.prefix), executable=sys.executable)
    if sys.version_info < (3, 8):
        return
    tell(site=list_sites(), packages=find_versions(asked.get("packages", [])), externally_managed=is_managed())
    tell(**ask_training())
    tell(stage="torch")
    torch = import_torch(tell)
    if torch is None:
        return
    tell(stage="devices")
    tell(devices=try_devices(torch), memory=free_memory())
    tell(stage="torchvision")
    tell(**ask_torchvision())
    tell(stage="")


def list_sites():
    import sysconfig

    paths = [sysconfig.get_path(kind) for kind in ("purelib", "platlib")] + sys.path
    return sorted({path for path in paths if path and path.endswith(("site-packages", "dist-packages"))})


def is_managed():
    """Whether pip refuses to install here (PEP 668)."""
    import sysconfig

    return sys.prefix == sys.base_prefix and os.path.exists(
        os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    )


def find_versions(names):
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
        except Exception as error:  # a record that another program damaged
            found[name] = "damaged: %s" % error
    return found


def ask_training():
    try:
        import training
    except ImportError:
        return {"training": None}
    except Exception as error:
        return {"training": None, "training_error": describe(error)}
    return {"training": getattr(training, "__version__", None), "training_file": getattr(training, "__file__", None)}


def import_torch(tell):
    try:
        import torch

        facts = {
            "torch": str(torch.__version__),
            "cuda": torch.version.cuda,
            "hip": getattr(torch.version, "hip", None),
        }
    except BaseException as error:  # a broken one may raise anything, SystemExit too
        missing = isinstance(error, ImportError) and getattr(error, "name", None) == "torch"
        tell(torch=None, torch_error="" if missing else describe(error))
        return None
    tell(torch_file=getattr(torch, "__file__", None), **facts)
    return torch


def try_devices(torch):
    """The CPU, then each GPU, with what came of a product of matrices there."""
    torch.manual_seed(0)
    left, right = torch.rand(SIZE, SIZE), torch.rand(SIZE, SIZE)
    exact = torch.mm(left.double(), right.double())
    found = [try_device(torch, "cpu", "CPU", left, right, exact)]
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            found.append(try_device(torch, "cuda:%d" % index, "", left, right, exact))
    mps = getattr(torch.backends, "mps", None)
    if mps is not None and mps.is_available():
        found.append(try_device(torch, "mps", "Apple GPU", left, right, exact))
    return found


def try_device(torch, device, name, left, right, exact):
    """``difference`` is the largest one from the product in float64, divided by the largest entry of that."""
    facts = {"device": device, "name": name}
    try:
        if device.startswith("cuda"):
            facts["name"] = torch.cuda.get_device_name(device)
            free, total = torch.cuda.mem_get_info(device)
            facts.update(free=int(free), total=int(total))
        product = torch.mm(left.to(device), right.to(device)).cpu().double()
        facts["difference"] = float((product - exact).abs().max() / exact.abs().max())
    except Exception as error:
        facts["error"] = describe(error)
    return facts


def free_memory():
    """Bytes that the system can give; None where nobody says."""
    try:
        import psutil

        return int(psutil.virtual_memory().available)
    except Exception:  # not there, or broken: then memory is not told, and the rest still is
        return None


def ask_torchvision():
    try:
        import torchvision
    except ImportError as error:
        missing = getattr(error, "name", None) == "torchvision"
        return {"torchvision": None, "torchvision_error": "" if missing else describe(error)}
    except Exception as error:
        return {"torchvision": None, "torchvision_error": describe(error)}
    return {"torchvision": str(torchvision.__version__)}


def describe(error):
    lines = str(error).strip().splitlines()
    return "%s: %s" % (type(error).__name__, lines[-1] if lines else "")


if __name__ == "__main__":
    main()
