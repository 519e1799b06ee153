"""Runs a program for the shell, as `python3` would: `-c TEXT`, `-m NAME` or a script.

This module knows nothing of WIT: `plugin` hands it plain data, so that it is tested natively. What a program reads and
writes goes through the interpreter's own files and streams; nothing is kept from one program to the next.
"""

import io
import linecache
import os
import random
import sys
import traceback
import types

# Where the workspace is open.
ROOT = "/workspace"

# Programs without a file, and what they find in `sys.argv`.
NAMELESS = {"<string>": "-c", "<stdin>": "-"}

# Modules that are of use with `-m`, their code and package: the finished component finds no file to compile them from.
MAINS = {}
RUNNABLE = (
    "base64",
    "calendar",
    "doctest",
    "gzip",
    "json.tool",
    "py_compile",
    "tarfile",
    "timeit",
    "unittest.__main__",
    "zipfile.__main__",
)


def keep_mains(get_code):
    """Compiles what `-m` can run. Called once, while the component is made."""
    for name in RUNNABLE:
        MAINS[name.removesuffix(".__main__")] = get_code(name), name.rpartition(".")[0]


def run(code, name, module, arguments, directory, environment):
    """Runs `code` under the file name `name`, or `module`; the exit code.

    `directory` is relative to the workspace. Exactly one of `code` and `module` is None.
    """
    prepare(directory, environment)
    try:
        if module is not None:
            compiled, name, package = module_code(module)
        else:
            package = None
            remember(name, code)
            compiled = compile(code, name, "exec", dont_inherit=True)
        script = module is None and name not in NAMELESS
        # Where the program's own modules are looked for first.
        sys.path.insert(0, os.path.dirname(os.path.abspath(name)) if script else os.getcwd())
        sys.argv = [NAMELESS.get(name, name), *arguments]
        execute(compiled, name, package)
        status = 0
    except SystemExit as error:
        status = exit_status(error)
    except BaseException as error:
        report(error)
        status = 1
    return flushed(status)


def prepare(directory, environment):
    """The surroundings of a new process."""
    os.chdir(f"{ROOT}/{directory}" if directory else ROOT)
    os.environ.clear()
    os.environ.update(environment)
    # The interpreter comes out of a snapshot: without this each program would draw the same numbers.
    random.seed()
    sys.dont_write_bytecode = True
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8", errors="surrogateescape")
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8", errors="surrogateescape")
    sys.stderr = io.TextIOWrapper(
        open(2, "wb", closefd=False), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )


def remember(name, code):
    """Lets tracebacks show the lines."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)


def module_code(module):
    """The code of a module that is run, its file name and its package."""
    if module in MAINS:
        code, package = MAINS[module]
        return code, f"<{module}>", package
    path = module.replace(".", "/")
    for candidate, package in ((f"{path}.py", module.rpartition(".")[0]), (f"{path}/__main__.py", module)):
        if os.path.isfile(candidate):
            with open(candidate, encoding="utf-8") as file:
                code = file.read()
            remember(candidate, code)
            return compile(code, candidate, "exec", dont_inherit=True), candidate, package
    known = ", ".join(sorted(MAINS))
    print(f"python3: no module {module} can be run here; modules of the workspace can, and {known}", file=sys.stderr)
    raise SystemExit(1)


def execute(code, name, package):
    """Runs code as `__main__`, of a package if it is a module's."""
    main = types.ModuleType("__main__")
    main.__file__ = name
    main.__package__ = package
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def exit_status(error):
    """The exit code of `sys.exit`; what is no number is a message."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def report(error):
    """The traceback, without the frames of this module."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    try:
        traceback.print_exception(type(error), error, trace)
    except BaseException:
        # An error whose own text cannot be made, or no room for it.
        os.write(2, f"{type(error).__name__}\n".encode())


def flushed(status):
    """Writes out what is buffered; output that nobody takes is an error of the program."""
    for stream in (sys.stdout, sys.stderr):
        try:
            # A program may close them, or put something else in their place.
            if not stream.closed:
                stream.flush()
        except BaseException as error:
            os.write(2, f"python3: output lost: {error}\n".encode())
            status = status or 120
    return status
