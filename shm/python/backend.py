"""Builds the wheel and the source archive for pip, with the standard library alone.

A wheel here is a zip of the package with the C library in it, made by the C library's own
Makefile for the machine it runs on. So it is tagged for that platform, and for any
Python 3. The functions are those of PEP 517.
"""
from __future__ import annotations

import base64
import hashlib
import io
import re
import subprocess
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "skewgate_shm"
LIBRARY = "libskewgate_shm.so"


def _project(key: str) -> str:
    """A text of pyproject.toml, which has each key once."""
    return re.search(rf'^{key} = "(.*)"$', (HERE / "pyproject.toml").read_text("utf-8"), re.M).group(1)


def _c_folder() -> Path:
    """Sources of the C library: the source archive has them beside this file, a checkout one folder up."""
    for folder in (HERE / "c", HERE.parent / "c"):
        if (folder / "Makefile").exists():
            return folder
    raise FileNotFoundError(f"build the C library: its sources are neither in {HERE / 'c'} nor in {HERE.parent / 'c'}")


def _library() -> bytes:
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(["make", "-s", "-C", str(_c_folder()), f"OUT={out}", "all"], check=True)
        return (Path(out) / LIBRARY).read_bytes()


def _metadata() -> str:
    head = {
        "Metadata-Version": "2.1", "Name": _project("name"), "Version": _project("version"), "Summary": _project("description"),
        "License": _project("license"), "Requires-Python": _project("requires-python"), "Description-Content-Type": "text/markdown",
    }
    lines = "".join(f"{key}: {value}\n" for key, value in head.items())
    return lines + "\n" + (HERE / _project("readme")).read_text("utf-8")


def _sources() -> list[Path]:
    return sorted(p for p in (HERE / PACKAGE).iterdir() if p.suffix == ".py" or p.name == "py.typed")


def build_wheel(wheel_directory: str, config_settings: dict | None = None, metadata_directory: str | None = None) -> str:
    """Writes the wheel into wheel_directory; returns its file name. Needs make and a C compiler."""
    stem = f"{PACKAGE}-{_project('version')}"
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    files = {f"{PACKAGE}/{p.name}": p.read_bytes() for p in _sources()}
    files[f"{PACKAGE}/{LIBRARY}"] = _library()
    files[f"{stem}.dist-info/METADATA"] = _metadata().encode()
    files[f"{stem}.dist-info/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: skewgate\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = f"{stem}.dist-info/RECORD"
    rows = []
    for name, body in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(body)}\n")
    files[record] = ("".join(rows) + f"{record},,\n").encode()
    wheel = f"{stem}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as z:
        for name, body in files.items():
            info = zipfile.ZipInfo(name)  # dated 1980: the same files give the same wheel
            info.external_attr = 0o644 << 16
            z.writestr(info, body, zipfile.ZIP_DEFLATED)
    return wheel


def build_sdist(sdist_directory: str, config_settings: dict | None = None) -> str:
    """Writes the source archive into sdist_directory; returns its file name. pip builds a wheel from it."""
    stem = f"{PACKAGE}-{_project('version')}"
    files = {f"{PACKAGE}/{p.name}": p.read_bytes() for p in _sources()}
    files.update({name: (HERE / name).read_bytes() for name in ("pyproject.toml", "backend.py", "README.md")})
    files.update({f"c/{p.name}": p.read_bytes() for p in sorted(_c_folder().iterdir()) if p.is_file()})
    files["PKG-INFO"] = _metadata().encode()
    archive = f"{stem}.tar.gz"
    with tarfile.open(Path(sdist_directory) / archive, "w:gz", format=tarfile.PAX_FORMAT) as t:
        for name, body in files.items():
            info = tarfile.TarInfo(f"{stem}/{name}")
            info.size = len(body)
            t.addfile(info, io.BytesIO(body))
    return archive
