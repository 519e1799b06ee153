"""Loads the libraries that rule scripts may import: the pure standard library and PyYAML.

Runs once, while the component is made: the finished component finds no file to import from, only what is loaded
already. It never runs when a script does.
"""

import contextlib
import gc
import importlib
import importlib.machinery
import importlib.util
import io
import pkgutil
import sys
import types

# What has no use where there is no process, thread, socket, terminal or person, and the Python doubles of what is there in C;
# together 3 MB of the component.
LEFT_OUT = {
    "_pydatetime",
    "_pydecimal",
    "_pyio",
    "_pyrepl",
    "antigravity",
    "bdb",
    "ctypes",
    "curses",
    "dbm",
    "ensurepip",
    "ftplib",
    "idlelib",
    "imaplib",
    "mailbox",
    "multiprocessing",
    "pdb",
    "poplib",
    "pydoc",
    "pydoc_data",
    "smtplib",
    "socketserver",
    "test",
    "this",
    "tkinter",
    "turtle",
    "turtledemo",
    "venv",
    "wsgiref",
    "xmlrpc",
}

# What CPython for WASI is built without: a change of this list with a new componentize-py shows here, not in a script.
ABSENT = set(
    """
    _bz2 _ctypes _curses _curses_panel _dbm _gdbm _hashlib _interpchannels _interpqueues _interpreters _lzma
    _multiprocessing _overlapped _posixshmem _posixsubprocess _remote_debugging _scproxy _ssl _tkinter _uuid
    _winapi _wmi _zstd asyncio.tools asyncio.windows_events asyncio.windows_utils bz2 compression.bz2 compression.lzma compression.zstd
    concurrent.futures.interpreter concurrent.interpreters encodings.bz2_codec
    encodings.mbcs encodings.oem fcntl grp lzma mmap msvcrt nt pty pwd readline resource ssl syslog termios
    tty winreg winsound yaml.cyaml
    """.split()
)

# Parts of packages that are programs or tests.
PARTS_LEFT_OUT = {"__main__", "test", "tests"}


class Lean(importlib.machinery.SourceFileLoader):
    """Leaves documentation and assertions out of what is loaded, as `python -OO` does: 3 MB."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return compile(self.get_data(path), path, "exec", dont_inherit=True, optimize=2)


def load_libraries(zones):
    """Imports everything; `zones` is the folder of the zone database. Raises ImportError, which fails the build, when more is missing than `ABSENT`."""
    whole = importlib.machinery.SourceFileLoader.get_code
    importlib.machinery.SourceFileLoader.get_code = Lean.get_code
    missing = []
    # asyncio asks for it, for an event loop that is not used.
    sys.modules["fcntl"] = types.ModuleType("fcntl")
    load("asyncio", missing)
    del sys.modules["fcntl"]
    for name in sorted(sys.stdlib_module_names - LEFT_OUT):
        load(name, missing)
    load("yaml", missing)
    importlib.import_module("stand_ins").put_in(zones)
    importlib.machinery.SourceFileLoader.get_code = whole
    gc.collect()
    # What is loaded stays: a collection that walked it would copy every page of the snapshot.
    gc.freeze()
    if set(missing) != ABSENT:
        raise ImportError(f"other modules are missing than ABSENT says: {sorted(ABSENT.symmetric_difference(missing))}")


def code_of(name):
    """The code of a module, for programs that run it. Only while the component is made."""
    return importlib.util.find_spec(name).loader.get_code(name)


def load(name, missing):
    """Imports a module and, of a package, everything in it."""
    try:
        # Some say things when they are imported.
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            module = importlib.import_module(name)
    except BaseException:
        missing.append(name)
        return
    for part in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if part.name not in PARTS_LEFT_OUT:
            load(f"{name}.{part.name}", missing)
