"""Finding and checking the C library, each time in a process of its own."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import Case

HERE = Path(__file__).resolve().parent.parent
PACKAGE = HERE / "skewgate_shm"


def run(code, cwd=HERE, **env):
    """What Python says to code: (exit code, last line of its output)."""
    environment = {k: v for k, v in os.environ.items() if k not in ("SKEWGATE_SHM_LIB", "PYTHONPATH")}
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, env={**environment, **env}, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines() or [""]
    return done.returncode, lines[-1]


class Library(Case):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.library = os.environ["SKEWGATE_SHM_LIB"]

    def package(self):
        """A copy of the package far from any checkout."""
        shutil.copytree(PACKAGE, self.folder / "skewgate_shm", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        return self.folder

    def test_named_by_the_environment(self):
        code, said = run("import skewgate_shm.library as l; print(l.find())", SKEWGATE_SHM_LIB=self.library)
        self.assertEqual((0, self.library), (code, said))

    def test_beside_the_package(self):
        folder = self.package()
        shutil.copy(self.library, folder / "skewgate_shm" / "libskewgate_shm.so")
        code, said = run("import skewgate_shm.library as l; print(l.find())", cwd=folder)
        self.assertEqual((0, str(folder / "skewgate_shm" / "libskewgate_shm.so")), (code, said))

    def test_in_the_build_folder_of_a_checkout(self):
        folder = self.package()
        (folder / "python").mkdir()
        shutil.move(folder / "skewgate_shm", folder / "python" / "skewgate_shm")
        (folder / "c" / "build").mkdir(parents=True)
        shutil.copy(self.library, folder / "c" / "build" / "libskewgate_shm.so")
        code, said = run("import skewgate_shm.library as l; print(l.find())", cwd=folder / "python")
        self.assertEqual((0, str(folder / "c" / "build" / "libskewgate_shm.so")), (code, said))

    def test_where_the_loader_looks(self):
        folder = self.package()
        (folder / "lib").mkdir()
        shutil.copy(self.library, folder / "lib" / "libskewgate_shm.so.1")
        code, said = run("import skewgate_shm.library as l; print(l.find())", cwd=folder, LD_LIBRARY_PATH=str(folder / "lib"))
        self.assertEqual((0, "libskewgate_shm.so.1"), (code, said))

    def test_nowhere(self):
        code, said = run("import skewgate_shm", cwd=self.package())
        self.assertEqual(1, code)
        self.assertRegex(said, r"LibraryError: find the C library: none of .*make -C shm/c.*SKEWGATE_SHM_LIB")

    def test_named_but_not_there(self):
        code, said = run("import skewgate_shm", SKEWGATE_SHM_LIB="/no/such.so")
        self.assertEqual(1, code)
        self.assertRegex(said, r"LibraryError: .*/no/such.so is there")

    def test_not_a_library(self):
        wrong = self.folder / "libskewgate_shm.so"
        wrong.write_text("text")
        code, said = run("import skewgate_shm", SKEWGATE_SHM_LIB=str(wrong))
        self.assertEqual(1, code)
        self.assertRegex(said, r"LibraryError: load the C library: .*libskewgate_shm.so")

    def test_another_library(self):
        import _ctypes

        code, said = run("import skewgate_shm", SKEWGATE_SHM_LIB=_ctypes.__file__)
        self.assertEqual(1, code)
        self.assertRegex(said, r"LibraryError: load .*: it has no sg_attach_writer: take library and binding from one release")

    def test_structs_of_another_size(self):
        code, said = run(
            "import skewgate_shm.library as l, struct; l.SIZES['sg_box'] = struct.Struct('<6f4x'); l.load(l.find())",
            SKEWGATE_SHM_LIB=self.library,
        )
        self.assertEqual(1, code)
        self.assertRegex(said, r"LibraryError: load .*: its sg_box has 24 bytes, this binding's 28")

    def test_numpy_is_not_imported_for_nothing(self):
        code, said = run("import sys, skewgate_shm; print('numpy' in sys.modules)", SKEWGATE_SHM_LIB=self.library)
        self.assertEqual((0, "False"), (code, said))
