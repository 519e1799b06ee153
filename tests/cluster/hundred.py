"""A suite of a hundred personas with one session of one turn each.

    hundred.py FOLDER
"""

import pathlib
import sys

FOLDER = pathlib.Path(sys.argv[1])
PERSONA = """version = 1
id = "p{number}"
name = "Ada Quill"
profile = "A clerk."
[[episode]]
session = "s"
"""
SESSION = """version = 1
id = "s"
title = "Shelves"
clock = 2026-03-02T09:00:00
request = "Sort them."
[[intents]]
id = "i"
content = "By colour."
[intents.satisfied]
all = [["by colour"]]
[[reference]]
say = "They are sorted by colour."
"""

for number in range(100):
    session = FOLDER / f"p{number}" / "sessions" / "s"
    session.mkdir(parents=True)
    (FOLDER / f"p{number}" / "persona.toml").write_text(PERSONA.format(number=number))
    (session / "session.toml").write_text(SESSION)
personas = ", ".join(f'"p{number}"' for number in range(100))
(FOLDER / "suite.toml").write_text(f'version = 1\nid = "hundred"\npersonas = [{personas}]\n')
