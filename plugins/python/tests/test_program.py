"""Programs as the shell starts them, each in a process of its own: `program` takes over streams and surroundings."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent.parent

DRIVER = """
import sys
sys.path.insert(0, {here!r})
import program
program.ROOT = {root!r}
program.MAINS["known"] = compile("print('known runs')", "known", "exec"), ""
sys.exit(program.run({code!r}, {name!r}, {module!r}, {arguments!r}, {directory!r}, {{"A": "b"}}))
"""


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        (self.root / "sub").mkdir()

    def start(self, code=None, name="<string>", module=None, arguments=(), directory="", stdin=""):
        driver = DRIVER.format(
            here=str(HERE),
            root=str(self.root),
            code=code,
            name=None if module else name,
            module=module,
            arguments=list(arguments),
            directory=directory,
        )
        return subprocess.run([sys.executable, "-c", driver], input=stdin, capture_output=True, text=True, check=False)

    def check(self, expected, **asked):
        ended = self.start(**asked)
        self.assertEqual((ended.stdout, ended.returncode), (expected, 0), ended.stderr)

    def test_a_program_has_arguments_a_directory_an_environment_and_input(self):
        code = "import os, sys; print(sys.argv, os.getcwd().endswith('sub'), dict(os.environ)['A'], input())"
        self.check(
            "['a.py', '-x'] True b hello\n", code=code, name="a.py", arguments=["-x"], directory="sub", stdin="hello\n"
        )

    def test_a_program_is_the_main_module(self):
        code = "import dataclasses\n@dataclasses.dataclass\nclass A: n: int\nif __name__ == '__main__': print(A(1))"
        self.check("A(n=1)\n", code=code)

    def test_the_exit_code_is_that_of_sys_exit(self):
        for argument, code, said in [("", 0, ""), ("0", 0, ""), ("3", 3, ""), ("'no'", 1, "no\n"), ("-1", 255, "")]:
            ended = self.start(code=f"import sys; sys.exit({argument})")
            self.assertEqual((ended.returncode, ended.stderr), (code, said), argument)

    def test_a_program_may_close_its_output(self):
        self.check("done\n", code="import sys; print('done'); sys.stdout.close()")

    def test_a_traceback_shows_the_programs_own_lines_only(self):
        ended = self.start(code="def f():\n    return 1 / 0\n\nf()\n", name="a.py")
        self.assertEqual(ended.returncode, 1)
        self.assertIn('File "a.py", line 2, in f\n    return 1 / 0', ended.stderr)
        self.assertNotIn("program.py", ended.stderr)
        self.assertIn("SyntaxError", self.start(code="def").stderr)

    def test_modules_of_the_workspace_and_known_ones_run(self):
        (self.root / "own.py").write_text("print(__name__)")
        self.check("__main__\n", module="own")
        self.check("known runs\n", module="known")
        (self.root / "sub" / "__init__.py").touch()
        (self.root / "sub" / "one.py").write_text("from . import two\nprint(two.N)")
        (self.root / "sub" / "two.py").write_text("N = 2")
        self.check("2\n", module="sub.one")
        ended = self.start(module="nothing")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("no module nothing can be run here", ended.stderr)

    def test_modules_beside_the_program_are_imported(self):
        (self.root / "lib.py").write_text("N = 5")
        self.check("5\n", code="import lib; print(lib.N)")
        (self.root / "sub" / "near.py").write_text("N = 6")
        self.check("6\n", code="import near; print(near.N)", name="sub/a.py")
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), ["lib.py", "sub"], "nothing is cached")


if __name__ == "__main__":
    unittest.main()
