"""The same random calls to an app of ours and to the service that it stands in for: `services.py PROGRAM PLUGINS [APP...]`.

Both begin with the same people and, where no tool makes them, the same goods and songs, and see the same clock. A call agrees when
both answer or both refuse with the same status. Ids may differ: an id of ours is known by the answer that told it. An episode ends
where one side changed and the other did not, since nothing after it can be compared. Exits with 1 where an app agrees less than it did.
"""

import collections
import datetime
import importlib
import json
import math
import random
import subprocess
import sys

from appworld.apps.api_lib import set_local_date_and_time, set_local_dbs
from appworld.common.datetime import DateTime
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

PROGRAM, PLUGINS, *ONLY = sys.argv[1:]
# What agreed at the least when this was written, in percent. What is left are differences of plugins/README.md.
AT_LEAST = {"simple_note": 99.5, "todoist": 98, "gmail": 96.5, "splitwise": 96, "phone": 98, "file_system": 93, "amazon": 98.5, "spotify": 97}
EPISODES, CALLS = 20, 100
BEGIN = datetime.datetime(2026, 3, 2, 9)
# What both sides have to sell and to play: no tool makes it.
SHOP = {
    "sellers": [{"id": name, "name": name, "rating": rating} for name, rating in [("Lumen", 4.5), ("Harrow", 3.0)]],
    "products": [
        {"id": f"p{number}", "seller": ("Lumen", "Harrow")[number % 2], "type": ("desk lamp", "mug", "kettle")[number % 3],
         "name": f"{('Arc', 'Bell', 'Court')[number // 3]} {('lamp', 'mug', 'kettle')[number % 3]}", "description": "plain and good",
         "price": 12.5 * (number + 1), "stock": (40, 3, 0, 90)[number % 4], "delivery_days": 1 + number % 4, "weight": 1.5,
         "length": 10.0, "width": 8.0, "height": 20.0 + number, "color": ("blue", "red")[number % 2],
         "relative_size": ("small", "large")[number % 2]}
        for number in range(9)
    ],
    "promo_codes": [{"code": "SPR10", "percent": 10}],
}
MUSIC = {
    "artists": [{"id": name, "name": name, "genre": genre, "created_at": "2019-04-01"} for name, genre in [("Marrow", "folk"), ("Quill", "jazz")]],
    "albums": [
        {"id": f"a{number}", "title": f"Harbour {number}", "artists": [("Marrow", "Quill")[number % 2]], "genre": ("folk", "jazz")[number % 2],
         "release_date": f"202{number}-05-14"}
        for number in range(3)
    ],
    "songs": [
        {"id": f"s{number}", "title": f"Ferry {number}", "album": f"a{number // 3}", "duration": 100 + 30 * number, "plays": 10 * number}
        for number in range(9)
    ],
}
RECORDS = {"amazon": SHOP, "spotify": MUSIC}
PEOPLE = [
    {"first_name": first, "last_name": last, "email": f"{first.lower()}@{last.lower()}.com", "phone_number": number, "password": "pass-12"}
    for first, last, number in [("Ida", "Vale", "5550100001"), ("Bo", "Lind", "5550100002"), ("Cy", "Moor", "5550100003")]
]
# Of accounts, which both have from the start; and what the service answers with an error of its own.
LEFT_OUT = {"login", "logout", "signup", "delete_account", "reset_password", "show_account", "show_profile", "update_account_name",
            "verify_account", "send_verification_code", "send_password_reset_code", "get_current_date_and_time", "add_contact"}
CREATE = ("create", "add", "send", "post", "record", "reply", "forward", "place", "move", "write", "review", "play")
LOOK = ("show", "search")
# The same id under another name.
SAME_ID = {"response_to_email_id": "email_id", "sent_email_id": "email_id", "belongs_to_email_thread_id": "email_thread_id",
           "sent_email_thread_id": "email_thread_id"}
# Values that random ones would hardly be.
DRAWN = {
    "card_number": [4000123412341234, 4000123412341235, 12],
    "expiry_year": [2027, 2029, 2020],
    "expiry_month": [1, 12, 13],
    "cvv_number": [123, 456, 7],
    "zip_code": [97001, 12345],
    "rating": [1, 3, 5, 5, 9],
    "quantity": [1, 2, 3],
    "promo_code": ["SPR10", "SPR10", "AUT10"],
    "volume": [10, 80, 120],
}
# Of time and of chance, and words.
NOT_COMPARED = {"message", "access_token", "created_at", "updated_at", "registered_at", "invitation_code"}


class Service:
    """The service itself, with a database of its own in memory."""

    count = 0

    def __init__(self, app):
        Service.count += 1
        place = f":memory:interop{Service.count}"
        set_local_dbs(to_db_home_path=place, from_db_home_path=place, create=True)
        self.set_clock(BEGIN)
        server = importlib.import_module(f"appworld.apps.{app}.apis").app
        self.client = TestClient(server, raise_server_exceptions=False)
        self.routes = {route.name: route for route in server.routes if isinstance(route, APIRoute)}
        models = importlib.import_module(f"appworld.apps.{app}.models")
        users = models.User
        key = user_key(app)
        for person in PEOPLE:
            wanted = {field.name for field in self.routes["signup"].dependant.body_params}
            self.client.post(self.routes["signup"].path, json={name: person[name] for name in wanted})
            user = users.find_one(**{key: person[key]})
            if hasattr(user, "verified"):
                user.verified = True
                user.save()
        fill(app, models)

    def set_clock(self, now):
        set_local_date_and_time(DateTime.fromisoformat(now.isoformat()))

    def call(self, tool, arguments):
        """Status and answer; None where it has no such tool."""
        route = self.routes.get(tool)
        if route is None:
            return None, None
        rest = dict(arguments)
        token = rest.pop("access_token", None)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if tool == "login":
            answer = self.client.post(route.path, data=rest)
            return answer.status_code, answer.json()
        path = route.path
        for field in route.dependant.path_params:
            if field.name in rest:
                path = path.replace("{%s}" % field.name, str(rest.pop(field.name)))
        in_query = {field.name for field in route.dependant.query_params}
        query = {name: value for name, value in rest.items() if name in in_query}
        body = {name: value for name, value in rest.items() if name not in in_query}
        (method,) = route.methods
        more = {"json": body} if method in ("POST", "PUT", "PATCH") else {}
        answer = self.client.request(method, path, params=query, headers=headers, **more)
        return answer.status_code, answer.json() if answer.status_code < 500 else None


def fill(app, models):
    """Puts an app's records into the service's database; they are told apart by their order."""
    if app == "amazon":
        sellers = {one["id"]: made(models.Seller, name=one["name"], rating=one["rating"]) for one in SHOP["sellers"]}
        for one in SHOP["products"]:
            rest = {name: one[name] for name in ("name", "description", "price", "delivery_days", "weight", "length", "width", "height", "color", "relative_size")}
            seller = sellers[one["seller"]]
            made(models.Product, product_type=one["type"], seller_id=seller.id, inventory_quantity=one["stock"], rating=0.0,
                 seller_rating=seller.rating, has_variations=False, **rest)
        for one in SHOP["promo_codes"]:
            made(models.Promo, type="percent", code=one["code"], min_amount=0, discount=one["percent"])
        for name in ("UPS", "USPS", "FedEx"):
            made(models.Deliverer, name=name)
    if app == "spotify":
        artists = {one["id"]: made(models.Artist, name=one["name"], genre=one["genre"], created_at=at(one["created_at"])) for one in MUSIC["artists"]}
        albums = {}
        for one in MUSIC["albums"]:
            albums[one["id"]] = made(models.Album, title=one["title"], artist_ids=[artists[name].id for name in one["artists"]],
                                     release_date=at(one["release_date"]), genre=one["genre"], rating=0.0, like_count=0, review_count=0)
        for one in MUSIC["songs"]:
            album = albums[one["album"]]
            made(models.Song, title=one["title"], artist_ids=album.artist_ids, album_id=album.id, duration=one["duration"], release_date=album.release_date,
                 genre=album.genre, play_count=one["plays"], rating=0.0, like_count=0, review_count=0)


def made(model, **fields):
    row = model(**fields)
    row.save()
    return row


def at(day):
    return DateTime.fromisoformat(day)


class Ours:
    """Our app, through `plugin call`; lists leave nothing out, as the service's do."""

    def __init__(self, app):
        seed = json.dumps({"people": PEOPLE, "records": RECORDS.get(app, {}), "world": False, "all_rows": True})
        with open("target/services-seed.json", "w", encoding="utf-8") as file:
            file.write(seed)
        command = [PROGRAM, "-q", "plugin", "call", f"{PLUGINS}/{app}.wasm", "--seed", file.name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.set_clock(BEGIN)

    def set_clock(self, now):
        self.now = now.isoformat()

    def call(self, tool, arguments):
        self.process.stdin.write(json.dumps({"call": tool, "arguments": arguments, "at": self.now}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer["status"], answer.get("answer", answer.get("message"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def user_key(app):
    return "phone_number" if app == "phone" else "email"


def kind(name):
    return SAME_ID.get(name, name)


class Ids:
    """What the ids of the service are in our app, by kind."""

    def __init__(self):
        self.known = collections.defaultdict(dict)

    def learn(self, theirs, ours):
        if isinstance(theirs, dict) and isinstance(ours, dict):
            for name, value in theirs.items():
                if name.endswith("_id") and isinstance(value, int) and isinstance(ours.get(name), int):
                    self.known[kind(name)].setdefault(value, ours[name])

    def ours(self, value, name=""):
        return self.changed(value, name, lambda known: known)

    def theirs(self, value, name=""):
        return self.changed(value, name, lambda known: {ours: theirs for theirs, ours in known.items()})

    def changed(self, value, name, way):
        if isinstance(value, dict):
            return {inner: self.changed(one, inner, way) for inner, one in value.items()}
        if isinstance(value, list):
            return [self.changed(one, name.removesuffix("s"), way) for one in value]
        if name.endswith("_id") and isinstance(value, int):
            return way(self.known[kind(name)]).get(value, value)
        return value


def draw(rng, name, schema, ids):
    """A value for an argument, right more often than not."""
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else [one for one in kinds or ["string"] if one != "null"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if kinds[0] == "boolean":
        return rng.random() < 0.5
    if kinds[0] == "array":
        return [draw(rng, name, schema.get("items", {}), ids) for _ in range(rng.choice([1, 1, 2]))]
    if name == "page_index":
        return rng.choice([0, 0, 0, 1])
    if name == "page_limit":
        return rng.choice([1, 5, 20])
    if name.endswith("_id"):
        known = list(ids.known[kind(name)])
        return rng.choice(known[-4:]) if known and rng.random() < 0.92 else 99
    if name in DRAWN or kinds[0] in ("integer", "number"):
        # Outside of the schema's bounds no call gets to an app.
        least, most = schema.get("minimum", 0), schema.get("maximum", math.inf)
        return rng.choice([value for value in DRAWN.get(name, [1, 2, 5, 10, 30]) if isinstance(value, str) or least <= value <= most])
    if "email" in name:
        return rng.choice([person["email"] for person in PEOPLE] * 5 + ["no@body.com"])
    if "phone" in name:
        return rng.choice([person["phone_number"] for person in PEOPLE] * 5 + ["5550199999"])
    if name == "time":
        return rng.choice(["08:00", "21:30"])
    if name.endswith("date"):
        return rng.choice(["2026-02-01", "2026-03-05"])
    if name.endswith("_at"):
        return rng.choice(["2025-01-01T00:00:00", "2026-04-01T10:00:00"])
    if "path" in name:
        names = ["docs", "photos", "docs/old"] if "directory" in name else ["b.txt", "docs/a.txt", "photos/d.txt"]
        return rng.choice(["~/", "/"]) + rng.choice(names)
    if name == "sort_by":
        return rng.choice(["+created_at", "-created_at", "-updated_at", "created_at", "+nothing"])
    return " ".join(rng.choice(["plan", "milk", "Court", "alpha", "home"]) for _ in range(rng.choice([1, 1, 2])))


def compared(value):
    """An answer's names and values, but for those of time and chance."""
    if isinstance(value, dict):
        return {name: compared(one) for name, one in value.items() if name not in NOT_COMPARED}
    return [compared(one) for one in value] if isinstance(value, list) else value


def episode(app, tools, seed, counts, examples):
    rng = random.Random(f"{app}{seed}")
    service, ours, ids = Service(app), Ours(app), Ids()
    tokens = []
    for person in PEOPLE:
        login = {"username": person[user_key(app)], "password": person["password"]}
        tokens.append([side.call("login", login)[1]["access_token"] for side in (service, ours)])
    names = [tool for tool in tools if tool not in LEFT_OUT and tool in service.routes]
    creators = [tool for tool in names if tool.startswith(CREATE)]
    # Numbered from 1 on both sides, in the order of the records.
    for plural, rows in RECORDS.get(app, {}).items():
        ids.known[f"{plural.removesuffix('s')}_id"].update({number: number for number in range(1, len(rows) + 1)})
    if app == "file_system":
        # A new account has no home yet.
        home = {"directory_path": "~/docs", "recursive": True}
        for side, token in zip((service, ours), tokens[0]):
            side.call("create_directory", {**home, "access_token": token})
    for number in range(1, CALLS + 1):
        tool = rng.choice(creators if rng.random() < 0.4 else names)
        if tool.startswith(("delete", "remove")) and rng.random() < 0.6:
            continue
        parameters = tools[tool]
        arguments = {
            name: draw(rng, name, schema, ids)
            for name, schema in parameters.get("properties", {}).items()
            if not name.endswith("access_token") and "attachment" not in name and "receipt" not in name
            and (name in parameters.get("required", []) or rng.random() < 0.3)
        }
        who = 0 if app == "file_system" else rng.choice([0, 0, 0, 1, 2])
        now = BEGIN + datetime.timedelta(seconds=number)
        answers = []
        for side, token, mine in zip((service, ours), tokens[who], (arguments, ids.ours(arguments))):
            side.set_clock(now)
            answers.append(side.call(tool, {**mine, "access_token": token} if "access_token" in parameters["properties"] else mine))
        (status, theirs), (our_status, answer) = answers
        if status >= 500:
            continue
        counts["calls"] += 1
        if status == our_status:
            counts["agree"] += 1
            if status == 200:
                if tool.startswith(CREATE):
                    ids.learn(theirs, answer)
                counts["answered"] += 1
                counts["same"] += compared(theirs) == compared(ids.theirs(answer))
            continue
        counts[(tool, status, our_status)] += 1
        examples.setdefault((tool, status, our_status), (arguments, theirs if status != 200 else answer))
        if (status == 200) != (our_status == 200) and not tool.startswith(LOOK):
            break
    ours.close()


def main():
    worse = []
    for app, least in AT_LEAST.items():
        if ONLY and app not in ONLY:
            continue
        inspected = subprocess.run([PROGRAM, "plugin", "inspect", f"{PLUGINS}/{app}.wasm", "--json"], check=True, capture_output=True)
        tools = {tool["name"].split("__", 1)[1]: tool["parameters"] for tool in json.loads(inspected.stdout)["tools"]}
        counts, examples = collections.Counter(), {}
        for seed in range(EPISODES):
            episode(app, tools, seed, counts, examples)
        share = 100 * counts["agree"] / counts["calls"]
        print(f"{app}: {counts['agree']} of {counts['calls']} calls agree, {share:.1f}%; of {counts['answered']} answers {counts['same']} are the same")
        for key, count in sorted((item for item in counts.items() if isinstance(item[0], tuple)), key=lambda item: -item[1])[:5]:
            tool, theirs, ours = key
            arguments, refusal = examples[key]
            print(f"  {count} times {tool}: the service {theirs}, ours {ours}")
            print(f"    first with {json.dumps(arguments)}: {json.dumps(refusal)[:200]}")
        if share < least:
            worse.append(f"{app} below {least}%")
    sys.exit(f"agrees less than it did: {', '.join(worse)}" if worse else 0)


if __name__ == "__main__":
    main()
