"""Prints the licences of everything that is built into the program or its plugins: a line for each crate, then the texts."""

import json
import pathlib
import subprocess

metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1", "--locked"]))
own = set(metadata["workspace_members"])
texts = {}
print("pibench-host is built of these crates, each under its licence.\n")
for package in sorted(metadata["packages"], key=lambda package: (package["name"], package["version"])):
    if package["id"] in own:
        continue
    name = f"{package['name']} {package['version']}"
    print(f"{name}: {package['license'] or package['license_file']}")
    folder = pathlib.Path(package["manifest_path"]).parent
    for file in sorted(folder.glob("*")):
        if file.is_file() and file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")):
            texts.setdefault(file.read_text(errors="replace").strip(), []).append(name)
print("\nThe plugin `python` holds CPython, under the PSF License Agreement (https://docs.python.org/3/license.html).")
for text, names in texts.items():
    print("\n" + "-" * 80 + "\n" + ", ".join(names) + "\n\n" + text)
