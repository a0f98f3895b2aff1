"""The wheel and the source archive that pip builds."""
import base64
import hashlib
import importlib.util
import re
import tarfile
import tempfile
import zipfile
from pathlib import Path

import skewgate_shm

from . import Case
from .test_library import HERE, run


def backend_in(folder):
    """The build backend as it lies in a folder."""
    spec = importlib.util.spec_from_file_location("backend", folder / "backend.py")
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    return backend


class Packaging(Case):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def unpacked_wheel(self, source):
        wheel = self.folder / backend_in(source).build_wheel(str(self.folder))
        self.assertRegex(wheel.name, r"^skewgate_shm-1\.0\.0-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(wheel) as z:
            z.extractall(self.folder / "site")
        return self.folder / "site"

    def check(self, site):
        """The wheel works far from any checkout, and holds what its record says."""
        code, said = run("import skewgate_shm.library as l; print(l.find())", cwd=site)
        self.assertEqual((0, str(site / "skewgate_shm" / "libskewgate_shm.so")), (code, said))
        (record,) = site.glob("*.dist-info/RECORD")
        rows = [line.rsplit(",", 2) for line in record.read_text().splitlines()]
        self.assertEqual(sorted(str(p.relative_to(site)) for p in site.rglob("*") if p.is_file() and "__pycache__" not in str(p)),
                         sorted(name for name, _, _ in rows))
        for name, digest, size in rows[:-1]:
            body = (site / name).read_bytes()
            self.assertEqual(f"sha256={base64.urlsafe_b64encode(hashlib.sha256(body).digest()).decode().rstrip('=')}", digest)
            self.assertEqual(len(body), int(size))

    def test_wheel(self):
        self.check(self.unpacked_wheel(HERE))

    def test_wheel_from_the_source_archive(self):
        archive = backend_in(HERE).build_sdist(str(self.folder))
        with tarfile.open(self.folder / archive) as t:
            t.extractall(self.folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # asked for since 3.12
        source = self.folder / archive[: -len(".tar.gz")]
        self.assertEqual("Metadata-Version: 2.1", (source / "PKG-INFO").read_text().splitlines()[0])
        self.check(self.unpacked_wheel(source))

    def test_one_version(self):
        project = re.search(r'^version = "(.*)"', (HERE / "pyproject.toml").read_text(), re.M).group(1)
        library = re.search(r"^VERSION\s*:=\s*(.*)", (HERE.parent / "c" / "Makefile").read_text(), re.M).group(1)
        self.assertEqual([skewgate_shm.__version__] * 2, [project, library])
