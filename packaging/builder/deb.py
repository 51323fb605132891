"""A folder as a package for Debian, by dpkg-deb alone."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from builder.checkout import HOMEPAGE, run, source_date, version

MAINTAINER = "The Trainwright developers <trainwright@users.noreply.github.com>"


def finish_package(root: Path, name: str, fields: Mapping[str, str], out: Path, compressor: tuple[str, ...]) -> Path:
    """Add documents and control files to ``root``, and pack it."""
    documents = root / "usr" / "share" / "doc" / name
    documents.mkdir(parents=True, exist_ok=True)
    _write_copyright(documents)
    when = run(["date", "--utc", "--rfc-email", f"--date=@{source_date()}"], LC_ALL="C").strip()
    entry = f"{name} ({version()}) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- {MAINTAINER}  {when}\n"
    (documents / "changelog.gz").write_bytes(gzip.compress(entry.encode(), 9, mtime=0))
    _set_modes(root)
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    size = sum(path.stat().st_size for path in files) // 1024
    control = root / "DEBIAN"
    control.mkdir(mode=0o755)
    sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files)
    (control / "md5sums").write_text(sums, encoding="utf-8")
    told = {
        "Package": name,
        "Version": version(),
        "Architecture": run(["dpkg", "--print-architecture"]).strip(),
        "Maintainer": MAINTAINER,
        "Installed-Size": str(size),
        "Section": "science",
        "Priority": "optional",
        "Homepage": HOMEPAGE,
        **fields,
    }
    (control / "control").write_text("".join(f"{key}: {value}\n" for key, value in told.items()), encoding="utf-8")
    for path in control.iterdir():
        path.chmod(0o644)
    out.mkdir(parents=True, exist_ok=True)
    package = out / f"{name}_{version()}_{told['Architecture']}.deb"
    run(
        ["dpkg-deb", "--root-owner-group", *compressor, "--build", root, package],
        SOURCE_DATE_EPOCH=str(source_date()),
    )
    return package


_EVERYWHERE = {
    "initial-upload-closes-no-bugs *": "not a package of Debian's archive",
    "shell-script-fails-syntax-check *slurm.sh.jinja*": "a template of a script, which is none yet",
}


def override(root: Path, package: str, tags: Mapping[str, str]) -> None:
    """What lintian is told about this package: tags, each with the reason."""
    place = root / "usr" / "share" / "lintian" / "overrides" / package
    place.parent.mkdir(parents=True, exist_ok=True)
    told = {**tags, **_EVERYWHERE}
    lines = [f"# {why}\n{package}: {tag}\n" for tag, why in told.items()]
    place.write_text("".join(lines), encoding="utf-8")


def _write_copyright(documents: Path) -> None:
    text = f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Trainwright
Comment: The licenses of the libraries inside are in {documents.name}/LICENSES.txt,
 and what they are in bill-of-materials.cdx.json.

Files: *
Copyright: The Trainwright developers
License: Apache-2.0
 On Debian systems the text of this license is in /usr/share/common-licenses/Apache-2.0.
"""
    (documents / "copyright").write_text(text, encoding="utf-8")


def _set_modes(root: Path) -> None:
    root.chmod(0o755)
    for path in root.rglob("*"):
        if not path.is_symlink():
            runs = path.is_dir() or (path.stat().st_mode & stat.S_IXUSR and ".so" not in path.name)
            path.chmod(0o755 if runs else 0o644)
            os.utime(path, (source_date(), source_date()))
