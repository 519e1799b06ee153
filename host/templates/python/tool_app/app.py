"""Named counters: `add` counts up, `show` tells. Records: `counters = [{ name, count }]`. Knows nothing of WIT."""

from dataclasses import dataclass, field


class Refusal(Exception):
    """A call or a record that the app does not take: an ordinary answer, which the agent sees."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Tool:
    description: str
    properties: dict

    @property
    def schema(self):
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.properties),
            "additionalProperties": False,
        }


NAME = {"type": "string", "description": "The counter's name.", "minLength": 1}

TOOLS = {
    "add": Tool(
        "Adds to a counter, which is made when there is none. The answer holds the new count.",
        {"name": NAME, "amount": {"type": "integer", "description": "How much to add, at least 1.", "minimum": 1}},
    ),
    "show": Tool("Shows a counter.", {"name": NAME}),
}


@dataclass
class App:
    """The state: counts by name."""

    counts: dict = field(default_factory=dict)

    def call(self, tool, arguments):
        if tool not in TOOLS:
            raise Refusal(404, f"There is no tool {tool}.")
        check(TOOLS[tool].properties, arguments)
        return getattr(self, tool)(**arguments)

    def add(self, name, amount):
        if amount < 1:
            raise Refusal(422, "The amount must be at least 1.")
        self.counts[name] = self.counts.get(name, 0) + amount
        return {"count": self.counts[name]}

    def show(self, name):
        if name not in self.counts:
            raise Refusal(409, f"There is no counter {name!r}.")
        return {"count": self.counts[name]}

    def with_records(self, records):
        """A state with the records on top; this one stays as it is."""
        counters = take(records, "counters")
        counts = dict(self.counts)
        for record in counters:
            check({"name": NAME, "count": {"type": "integer"}}, record)
            counts[record["name"]] = record["count"]
        return App(counts)

    def shown(self):
        """What graders see: lists of records with ids."""
        return {"counters": [{"id": name, "count": count} for name, count in sorted(self.counts.items())]}


def opened(seed):
    """The state of a seed. The people of the persona have no accounts here."""
    if not isinstance(seed.get("people"), list):
        raise Refusal(422, "people: a list is expected")
    return App().with_records(seed.get("records") or {})


def take(records, name):
    """The one list that there is; any other is an error."""
    for key in records:
        if key != name:
            raise Refusal(422, f"unknown records: {key}")
    found = records.get(name, [])
    if not isinstance(found, list):
        raise Refusal(422, f"{name}: a list is expected")
    return found


def check(properties, values):
    """Names what is unknown, missing or of another type."""
    if not isinstance(values, dict):
        raise Refusal(422, "An object is expected.")
    for key in values:
        if key not in properties:
            raise Refusal(422, f"Unknown argument {key}.")
    for key, schema in properties.items():
        wanted = str if schema["type"] == "string" else int
        if key not in values:
            raise Refusal(422, f"The argument {key} is missing.")
        if not isinstance(values[key], wanted) or isinstance(values[key], bool):
            raise Refusal(422, f"The argument {key} must be of type {schema['type']}.")
