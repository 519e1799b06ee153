"""Nightly inputs of VAR-01. In: prices.csv, exposures.csv. Out: series and the figure. R. Pell, 2019; last change 2024."""

import csv
import sys

NAMES = ("EURGBP", "GILT10", "FTSEX", "SWAP5")


def read(path, run):
    book = {}
    for row in csv.DictReader(open(path)):
        key = (row["name"], row["date"])
        if row["received"] <= run + " 19:00" and row["name"] in NAMES and key not in book:
            book[key] = float(row["value"])
    return book


def calendar(path, run):
    return sorted({row["date"] for row in csv.DictReader(open(path)) if row["date"] <= run})


def complete(book, days):
    """No series may have a hole: the scenarios want rectangles."""
    full = {}
    for name in NAMES:
        for i, day in enumerate(days):
            if (name, day) in book:
                full[name, day] = book[name, day]
                continue
            later = [book[name, d] for d in days[i + 1:] if (name, d) in book]
            full[name, day] = later[0] if later else full[name, days[i - 1]]
    return full


def moves(full, days):
    for before, day in zip(days, days[1:]):
        row = {}
        for name in NAMES:
            old, new = full[name, before], full[name, day]
            move = (new - old) * 100 if name == "SWAP5" else new / old - 1
            if name != "SWAP5" and abs(move) > 0.2:
                move = 0.0
            row[name] = move
        yield row


def main(run):
    days = calendar("pipeline/prices.csv", run)
    full = complete(read("pipeline/prices.csv", run), days)
    expected = len(days) * len(NAMES)
    status = "green" if len(full) == expected else "red"
    units = {r["series"]: float(r["gbp_per_unit"]) for r in csv.DictReader(open("pipeline/exposures.csv"))}
    results = sorted(sum(units[n] * move for n, move in row.items()) for row in moves(full, days[-251:]))
    print(run, status, expected, len(full), 0, round(-results[int(0.01 * len(results))]))


if __name__ == "__main__":
    main(sys.argv[1])
