"""The bill of materials (CycloneDX) of what is built, and the licenses of everything inside, written into it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from builder.checkout import CHECKOUT, run, source_date, version

BILL, LICENSES = "bill-of-materials.cdx.json", "LICENSES.txt"
_TOOLS = {"pip", "setuptools", "wheel", "pyinstaller", "pyinstaller-hooks-contrib", "altgraph"}
"""In the environment to build with, and not in what is built."""


def write_inventory(python: Path, folder: Path, name: str, system: Sequence[Path] = ()) -> dict[str, Any]:
    """Both files in ``folder``: the packages beside ``python``, that Python, our fonts, and the system's libraries ``system``
    that were copied. Returns the bill."""
    options = ["--gather-license-texts", "--output-reproducible", "--of", "JSON", "--sv", "1.6"]
    said = run(
        [sys.executable, "-m", "cyclonedx_py", "environment", *options, python], SOURCE_DATE_EPOCH=str(source_date())
    )
    bill: dict[str, Any] = json.loads(said[said.index("{") :])
    taken = [each for each in bill["components"] if each["name"].lower() not in _TOOLS]
    ours = [each for each in taken if each["name"].startswith("trainwright")]
    extra = [_python(python), _fonts(), *_system_packages(system)]
    bill["components"] = sorted(
        [*(each for each in taken if each not in ours), *extra], key=lambda each: each["name"].lower()
    )
    bill["metadata"]["component"] = {
        "type": "application",
        "bom-ref": "root-component",
        "name": name,
        "version": version(),
        "licenses": [{"expression": "Apache-2.0"}],
    }
    known = {each["bom-ref"] for each in bill["components"]}
    bill["dependencies"] = [
        {"ref": each["ref"], "dependsOn": [ref for ref in each.get("dependsOn", ()) if ref in known]}
        for each in bill.get("dependencies", ())
        if each["ref"] in known
    ] + [{"ref": "root-component", "dependsOn": sorted(known)}]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / BILL).write_text(json.dumps(bill, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / LICENSES).write_text(_tell_licenses(bill["components"]), encoding="utf-8")
    return bill


def _tell_licenses(components: Sequence[dict[str, Any]]) -> str:
    own = (CHECKOUT / "LICENSE").read_text(encoding="utf-8").strip("\n")
    parts = [f"Trainwright {version()}: Apache-2.0\n\n{own}\n"]
    for each in components:
        names, texts = _licenses(each)
        texts = texts or ["(Its package has no text of the license beside that name.)"]
        parts.append(
            f"{each['name']} {each.get('version', '')}: {', '.join(names) or 'not told'}\n\n"
            + "\n\n".join(texts)
            + "\n"
        )
    rule = "=" * 100
    return f"\n{rule}\n".join(parts)


def _licenses(component: dict[str, Any]) -> tuple[list[str], list[str]]:
    names, texts = [], []
    licenses = [*component.get("licenses", ()), *component.get("evidence", {}).get("licenses", ())]
    for each in licenses:
        told = each.get("license", {})
        name = each.get("expression") or told.get("id") or told.get("name", "")
        if text := told.get("text"):
            content = text["content"]
            texts.append(b64decode(content).decode("utf-8", "replace") if text.get("encoding") == "base64" else content)
        elif name and name not in names:
            names.append(name)
    return names, [text.strip("\n") for text in dict.fromkeys(texts)]


def _component(name: str, version_: str, license_: str, text: str, purl: str = "") -> dict[str, Any]:
    licenses = [{"license": {"name": license_, "text": {"content": text, "contentType": "text/plain"}}}]
    made: dict[str, Any] = {"type": "library", "bom-ref": f"{name}=={version_}", "name": name, "version": version_}
    return made | {"licenses": licenses, "description": license_} | ({"purl": purl} if purl else {})


def _python(python: Path) -> dict[str, Any]:
    ask = "import sys, sysconfig; print(sys.version.split()[0]); print(sysconfig.get_path('stdlib')); print(sys.base_prefix)"
    number, library, prefix = run([python, "-c", ask]).split("\n")[:3]
    debian = f"/usr/share/doc/python{number.rpartition('.')[0]}/copyright"
    places = [Path(library) / "LICENSE.txt", Path(prefix) / "LICENSE.txt", Path(debian)]
    text = next((each.read_text(encoding="utf-8") for each in places if each.is_file()), "")
    return _component("Python", number, "PSF-2.0", text, f"pkg:generic/python@{number}")


def _fonts() -> dict[str, Any]:
    text = (CHECKOUT / "resources" / "fonts" / "OFL.txt").read_text(encoding="utf-8")
    return _component("Inter", "4", "OFL-1.1", text)


def _system_packages(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Debian's packages that the files are of, with their copyright files; a file of no package is told by its own name."""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        owner = owner_of(file)
        if not owner:
            found[file.name] = _component(file.name, "", "see its project", "")
        elif owner not in found:
            number = run(["dpkg-query", "--show", "--showformat=${Version}", owner])
            copyright_ = Path(f"/usr/share/doc/{owner.partition(':')[0]}/copyright")
            text = copyright_.read_text(encoding="utf-8", errors="replace") if copyright_.is_file() else ""
            words = re.findall(r"^License: *(\S.*)$", text, re.MULTILINE)
            license_ = ", ".join(dict.fromkeys(words)) or "see its text"
            name = owner.partition(":")[0]
            found[owner] = _component(name, number, license_, text, f"pkg:deb/debian/{name}@{number}")
    return list(found.values())


def owner_of(file: Path) -> str:
    """Debian's package that a file of this system is of; "" where it is of none."""
    for name in dict.fromkeys(
        [str(file), str(file.resolve()), *(str(each).removeprefix("/usr") for each in (file, file.resolve()))]
    ):
        done = subprocess.run(["dpkg", "--search", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(": ")[0].split(",")[0]
    return ""
