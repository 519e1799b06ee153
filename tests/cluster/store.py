"""A run in two parts whose folder is a place in an object store. One part is killed and gone on with, one is gone on with by a
second process while the first one still lives; the store does not answer for a while, and fails now and then. What is merged has
to be what a folder of one machine holds, to the byte. The same, in short, in Google's and in Azure's store.

    store.py HOST [AZURITE]
"""

import base64
import contextlib
import datetime
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import boto3

HOST, *AZURITE = sys.argv[1:]
HERE = pathlib.Path(__file__).parent
RUN = pathlib.Path(tempfile.mkdtemp(prefix="pibench-store-test-"))
EPISODES = ["tasks/suite.toml", "--agent", "openai/m", "--user", "lexical", "--judge", "lexical", "--no-preflight",
            "--persona", "law_trainee", "--session", "saltmarsh-statement", "--runs", "2"]
OUT = "s3://runs/spring/all"


def begin(script, *arguments):
    server = subprocess.Popen([sys.executable, "-B", HERE / script, *arguments], stdout=subprocess.PIPE, text=True)
    servers.append(server)
    return server


def model(delay):
    place = RUN / f"model-{delay}"
    begin("model.py", place, str(delay))
    until(place.exists, "a model server listens")
    return place.read_text()


def until(so, what, seconds=60):
    end = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < end, f"waited too long until {what}"
        time.sleep(0.1)


def environment(port, **more):
    # Copies of earlier trials are found by looking into one folder.
    return {**os.environ, "OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "TMPDIR": str(RUN),
            "PIBENCH_CACHE": os.environ.get("PIBENCH_CACHE", str(pathlib.Path("target/test-cache").absolute())), **more}


def host(arguments, port, expected=0, **more):
    """What it says, wherever its lines are broken."""
    done = subprocess.run([HOST, *arguments], env=environment(port, **more), capture_output=True, text=True)
    assert done.returncode == expected, f"{arguments} ends with {done.returncode}:\n{done.stdout}{done.stderr}"
    return " ".join((done.stdout + done.stderr).split())


def part(index, port):
    command = [HOST, "run", "--shard", "auto", "--out", OUT, "--exit-zero", *EPISODES]
    more = {"JOB_COMPLETION_INDEX": str(index - 1), "PIBENCH_PARTS": "2"}
    return subprocess.Popen(command, env=environment(port, **more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(process, expected):
    said, _ = process.communicate(timeout=120)
    assert process.returncode == expected, f"it ends with {process.returncode}:\n{said}"
    return said


def keys(prefix):
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="runs", Prefix=prefix)
    return sorted(item["Key"] for page in pages for item in page.get("Contents", []))


def read(key):
    return s3.get_object(Bucket="runs", Key=key)["Body"].read()


def lines_of(run):
    return [key for key in keys(f"{run}/journal/") if b'"event":"turn"' in read(key)]


def lines(index):
    return keys(f"spring/all/part-{index}/journal/")


def in_short(place, port, **more):
    """A run in a store of another make: made once, verified, and gone on with by nobody else."""
    scripted = ["run", "tasks/suite.toml", "--agent", "nop", "--persona", "law_trainee", "--session", "saltmarsh-statement"]
    for index in ["0", "1"]:
        host([*scripted, "--runs", "2", "--shard", "auto", "--exit-zero", "--out", f"{place}/all"], port,
             JOB_COMPLETION_INDEX=index, PIBENCH_PARTS="2", **more)
    said = host([*scripted, "--out", f"{place}/all/part-1"], port, expected=4, **more)
    assert "there already" in said, said
    host(["merge", f"{place}/all"], port, **more)
    assert "every score follows" in host(["verify", f"{place}/all/run"], port, **more)
    print(f"store: two parts in {place.split(':')[0]}://, merged and verified")


def proxy(kind, address):
    return f"http://127.0.0.1:{begin('proxy.py', kind, address).stdout.readline().strip()}"


def merged_whole_or_not(address, port):
    """A merge that is killed leaves nothing that is taken for a run, and the next one makes it whole."""
    command = [HOST, "merge", OUT]
    stuck = environment(port, AWS_ENDPOINT=proxy("stuck", address))
    killed = subprocess.Popen(command, env=stuck, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: any("/blobs/" in key for key in keys("spring/all/run/")), "a merge is under way")
    assert killed.poll() is None, "the merge has ended"
    killed.kill()
    killed.wait()
    left = keys("spring/all/run/")
    assert left and "spring/all/run/manifest.json" not in left, left
    s3.put_object(Bucket="runs", Key="spring/all/run/trajectories/old/left.json", Body=b"{}")
    host(["run", "--resume", f"{OUT}/run"], port, expected=3)
    host(["merge", OUT], port)
    assert "spring/all/run/trajectories/old/left.json" not in keys("spring/all/run/"), "what a killed merge left stays"
    assert "every score follows" in host(["verify", f"{OUT}/run"], port)


def own_spending_is_kept(port):
    """What a part spent, on turns that it lost too, is known to its next process and to the other parts, wherever they play."""
    price = "models.m.price={input=100.0,output=100.0}"
    dear = ["run", "tasks/suite.toml", "--persona", "law_trainee", "--session", "saltmarsh-statement", "--runs", "2", "--jobs", "1",
            "--no-preflight", "--user", "lexical", "--judge", "lexical", "--agent", "m", "--set", "models.m.provider=openai",
            "--set", "models.m.model=m", "--set", price, "--max-cost", "0.05", "--out", "s3://runs/own/part-1", "--shard", "1/2"]
    host(dear, port, expected=7)
    spent = int(read("own/spent/1"))
    assert spent >= 50000 and lines_of("own/part-1"), spent
    for key in keys("own/part-1/journal/")[1:]:
        s3.delete_object(Bucket="runs", Key=key)
    said = host(dear, port, expected=7)
    assert "start another turn" in said and not lines_of("own/part-1"), said
    assert int(read("own/spent/1")) >= spent, "a part forgets what it spent"
    other = [*dear[:-4], "--out", "s3://runs/own/part-2", "--shard", "2/2"]
    said = host(other, port, expected=7)
    assert "USD are spent" in said and not lines_of("own/part-2"), said
    host(["run", "--max-cost", "5", "--resume", "s3://runs/own/part-2"], port)
    assert lines_of("own/part-2"), "a part that may spend more does not play"


def others_read(port):
    """Each command that takes a run's folder takes its place in a store."""
    place = f"{OUT}/run"
    for number, form in enumerate(["inspect", "atif", "jsonl"]):
        host(["export", place, "--format", form, "--out", str(RUN / f"export-{number}")], port)
    said = host(["review", place], port)
    assert f"{place}: 6 sessions" in said and "pibench-store-" not in said, said
    host(["compare", place, str(RUN / "whole")], port)
    assert "saltmarsh-statement" in host(["trajectory", place], port)
    host(["grade", place, "--judge", "lexical", "--out", "s3://runs/again"], port)
    assert "every score follows" in host(["verify", "s3://runs/again"], port)
    command = [HOST, "view", place]
    viewer = subprocess.Popen(command, env=environment(port), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    servers.append(viewer)
    with urllib.request.urlopen(viewer.stdout.readline().strip()) as page:
        assert b"<html" in page.read()
    viewer.send_signal(signal.SIGINT)
    assert viewer.wait(timeout=60) == 0


def google(address, port):
    proxy = begin("proxy.py", "google", address)
    base = f"http://127.0.0.1:{proxy.stdout.readline().strip()}"
    account = {"gcs_base_url": base, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    in_short("gs://runs/autumn", port, GOOGLE_SERVICE_ACCOUNT_KEY=json.dumps(account), GOOGLE_ALLOW_HTTP="true")


# Of the emulator, and known to everybody.
AZURE = ("devstoreaccount1", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")


def azure(port):
    if not AZURITE:
        return print("store: az:// left out, there is no Node.js for its emulator")
    command = [*AZURITE, "--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck", "--blobPort", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    servers.append(server)
    address = next(line for line in server.stdout if "listens on" in line).split("http://")[1].split()[0]
    account, key = AZURE
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"x-ms-date": date, "x-ms-version": "2021-12-02"}
    told = "".join(f"{name}:{value}\n" for name, value in headers.items())
    text = "PUT" + "\n" * 12 + f"{told}/{account}/{account}/runs\nrestype:container"
    signed = base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()
    headers |= {"Authorization": f"SharedKey {account}:{signed}", "Content-Length": "0"}
    container = f"http://{address}/{account}/runs?restype=container"
    urllib.request.urlopen(urllib.request.Request(container, method="PUT", headers=headers)).close()
    in_short("az://runs/autumn", port, AZURE_STORAGE_USE_EMULATOR="true", AZURITE_BLOB_STORAGE_URL=f"http://{address}")


servers = []
try:
    store = begin("s3.py")
    address = f"http://127.0.0.1:{store.stdout.readline().strip()}"
    os.environ.update(AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="secret", AWS_REGION="us-east-1", AWS_ENDPOINT=address,
                      AWS_ALLOW_HTTP="true")
    s3 = boto3.client("s3", endpoint_url=address, region_name="us-east-1")
    s3.create_bucket(Bucket="runs")
    quick, slow, other = model(0), model(0.3), model(0.31)
    host(["-q", "run", *EPISODES, "--out", str(RUN / "whole")], quick)

    # Killed, and gone on with; the store is away for a while.
    first = part(1, slow)
    until(lambda: len(lines(1)) >= 3, "part 1 plays")
    first.kill()
    first.wait()
    there = lines(1)
    assert "1 of 2" in host(["show", OUT], slow), "show does not name the part"
    again = part(1, slow)
    until(lambda: len(lines(1)) > len(there), "part 1 plays on", 180)
    store.send_signal(signal.SIGSTOP)
    time.sleep(4)
    store.send_signal(signal.SIGCONT)
    ended(again, 0)

    # Answers fail, are cut off and get lost.
    faulty = begin("proxy.py", "faulty", address)
    through = f"http://127.0.0.1:{faulty.stdout.readline().strip()}"
    shaky = ["run", *EPISODES, "--out", "s3://runs/shaky"]
    host(shaky, quick, AWS_ENDPOINT=through)
    assert "every score follows" in host(["verify", "s3://runs/shaky"], quick, AWS_ENDPOINT=through)
    for name in ["journal/law_trainee.r1.jsonl", "journal/law_trainee.r2.jsonl", "results.json"]:
        host(["report", "s3://runs/shaky"], quick)
        told = b"".join(read(key) for key in keys(f"shaky/{name}"))
        assert told == (RUN / "whole" / name).read_bytes(), f"{name} is another by a store that fails"

    # Who only asks how far a run is needs no blob of it.
    blind = begin("proxy.py", "blind", address)
    around = f"http://127.0.0.1:{blind.stdout.readline().strip()}"
    assert "finished" in (said := host(["show", "s3://runs/shaky"], quick, AWS_ENDPOINT=around)), said
    host(["verify", "s3://runs/shaky"], quick, expected=10, AWS_ENDPOINT=around)

    # A node is cut off and lives: another one goes on, and the first one comes back.
    zombie = part(2, other)
    until(lambda: len(lines(2)) >= 3, "part 2 plays")
    zombie.send_signal(signal.SIGSTOP)
    (RUN / "model-0.31.word").write_text(" or more")
    assert "not played to its end" in host(["merge", OUT], slow, expected=6)
    assert not keys("spring/all/run/"), "a merge that failed leaves something"
    ended(part(2, quick), 0)
    kept = {key: read(key) for key in keys("spring/all/part-2/")}
    zombie.send_signal(signal.SIGCONT)
    said = ended(zombie, 4)
    assert "another process" in said, said
    for key, bytes_ in kept.items():
        assert read(key) == bytes_ or key.endswith((".jsonl", "/lock")), f"{key} was changed by a process that has lost its part"

    own_spending_is_kept(quick)
    merged_whole_or_not(address, quick)
    host(["merge", OUT], quick)
    said = host(["verify", f"{OUT}/run"], quick)
    assert f"{OUT}/run" in said and "every score follows" in said, said
    host(["report", f"{OUT}/run"], quick)
    merged = {key.removeprefix("spring/all/run/"): read(key) for key in keys("spring/all/run/")}
    for name in ["journal/law_trainee.r1.jsonl", "journal/law_trainee.r2.jsonl", "results.json", "outline.json"]:
        assert merged[name] == (RUN / "whole" / name).read_bytes(), f"{name} is not that of one machine"
    blobs = {path.name for path in (RUN / "whole/blobs").iterdir()}
    # Those of the turn that the first process lost stay: no line names them.
    assert blobs <= {name.removeprefix("blobs/") for name in merged if name.startswith("blobs/")}, "blobs are missing"

    others_read(quick)
    scripted = ["run", "tasks/suite.toml", "--agent", "nop", "--persona", "law_trainee", "--runs", "2"]
    said = host([*scripted, "--out", "s3://runs/careless"], quick, expected=10, AWS_ENDPOINT=proxy("careless", address))
    assert "s3://runs" in said and "a second time" in said, said
    assert not keys("careless/"), "a run begins in a store that anybody overwrites"

    # What comes of another try is the same.
    said = host([*scripted, "--out", "s3://runs/denied"], quick, expected=10, AWS_ENDPOINT=proxy("denying", address))
    assert "s3://runs" in said and "AWS_ACCESS_KEY_ID" in said, said

    google(address, quick)
    azure(quick)

    # Mistakes.
    assert "there already" in host(["run", *EPISODES, "--out", f"{OUT}/run"], quick, expected=4)
    assert "NoSuchBucket" in host(["verify", "s3://elsewhere/a"], quick, expected=10)
    assert "AWS_ALLOW_HTTP" in host(["verify", "s3://runs/shaky"], quick, expected=10, AWS_ALLOW_HTTP="false")
    assert "want a path in the bucket" in host(["verify", "s3://runs"], quick, expected=2)
    for number, name in enumerate(["../../../out.txt", "%2E%2E%2F%2E%2E%2Fout.txt", "%2E%2E", "a%00b", "a%FF"]):
        s3.put_object(Bucket="runs", Key=f"evil{number}/run/{name}", Body=b"x")
        said = host(["verify", f"s3://runs/evil{number}"], quick, expected=10)
        assert "no name of a file" in said or "illegal character" in said, said
    left = [path.name for path in RUN.iterdir() if path.name.startswith("pibench-store-") and path.is_dir()]
    # Of the part and the merge that were killed.
    assert len(left) <= 2, f"copies stay: {left}"
    print("store: two parts in S3, one killed, one taken over from a process that came back, the store away for a while: the bytes "
          "of one machine")
finally:
    for server in servers:
        with contextlib.suppress(OSError):
            server.kill()
    if not os.environ.get("KEEP"):
        shutil.rmtree(RUN, ignore_errors=True)
