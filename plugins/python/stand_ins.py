"""Makes those parts of the standard library work that expect threads, sockets, locks of files or a system's time zones.

`put_in` is called once, while the component is made, with everything loaded. Nothing here adds what Python has not: a
pool runs its work at once, one after the other, and an event loop waits by sleeping.
"""

import asyncio
import concurrent.futures
import concurrent.futures.thread
import contextlib
import io
import os
import pathlib
import sqlite3
import sqlite3.dbapi2
import time
import urllib.parse
import zoneinfo
import zoneinfo._common

# The zone database, by name.
ZONES = {}


def put_in(zones):
    """`zones` is the folder of the zone database."""
    concurrent.futures.ThreadPoolExecutor = concurrent.futures.thread.ThreadPoolExecutor = Pool
    asyncio.SelectorEventLoop = asyncio.EventLoop = Loop
    asyncio.new_event_loop = asyncio.events.new_event_loop = Loop
    sqlite3.connect = sqlite3.dbapi2.connect = connect
    ZONES.update(read_zones(pathlib.Path(zones)))
    zoneinfo._common.load_tzdata = zone
    zoneinfo.available_timezones = lambda: set(ZONES)


class Pool(concurrent.futures.Executor):
    """A pool of threads that has none: work is done when it is submitted."""

    def __init__(self, max_workers=None, thread_name_prefix="", initializer=None, initargs=()):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._shutdown = False
        if initializer is not None:
            initializer(*initargs)

    def submit(self, fn, /, *args, **kwargs):
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = concurrent.futures.Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._shutdown = True


class Sleeper:
    """In place of a selector: no file is waited for, only the next timer."""

    def select(self, timeout):
        if timeout is None:
            raise RuntimeError("the event loop waits for something that nothing here can do: there is no other thread")
        if timeout > 0:
            time.sleep(timeout)
        return []

    def close(self):
        pass


class Loop(asyncio.BaseEventLoop):
    """An event loop without sockets, pipes, signals and processes."""

    def __init__(self):
        super().__init__()
        self._selector = Sleeper()

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass

    async def shutdown_default_executor(self, timeout=None):
        self._executor_shutdown_called = True
        if self._default_executor is not None:
            self._default_executor.shutdown()


def connect(database, *args, uri=False, **kwargs):
    """`sqlite3.connect` without locks, because one program runs at a time and a lock would outlive it, and without
    temporary files, because there is no place for them."""
    name = os.fsdecode(database)
    if not uri and name not in ("", ":memory:"):
        name, uri = "file:" + urllib.parse.quote(name), True
    if uri and name.startswith("file:") and "vfs=" not in name:
        name += ("&" if "?" in name else "?") + "vfs=unix-none"
    connection = sqlite3_connect(name, *args, uri=uri, **kwargs)
    # Not possible where `autocommit=False` has begun a transaction.
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA temp_store = MEMORY")
    return connection


sqlite3_connect = sqlite3.connect


def read_zones(folder):
    """Name to content of a zone database's files."""
    files = (path for path in folder.rglob("*") if path.is_file())
    zones = ((path.relative_to(folder).as_posix(), path.read_bytes()) for path in files)
    # Many names stand for the same zone.
    one = {}
    return {name: one.setdefault(content, content) for name, content in zones if content.startswith(b"TZif")}


def zone(key):
    """The zone's data, in place of that of the system and of the package tzdata."""
    if key not in ZONES:
        raise zoneinfo.ZoneInfoNotFoundError(f"no time zone found with key {key}")
    return io.BytesIO(ZONES[key])
