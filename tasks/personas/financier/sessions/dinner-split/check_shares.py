"""What each person owes of Saturday's bill by all that was recorded in the session, whoever paid which part."""

PEOPLE = {
    "katya": ("katya@lindqvist.example", 44.0),
    "joss": ("joss@amadijoinery.example", 115.0),
    "fenella": ("fenella.byrne@quillpost.example", 71.0),
    "tom": ("tom.rackham@quillpost.example", 31.0),
}
OWN = "anselm.brodie@carrowbank.example"
# What Tom sent in March for January, and entered nowhere: whoever makes that good records nothing of Saturday.
JANUARY = {"payer": "tom.rackham@quillpost.example", "debtors": [OWN], "amount": 36.0}


def made(item, key):
    """The id of what a call made; None of one that was refused."""
    result = item["result"]
    response = result.get("response") if isinstance(result, dict) else None
    return response.get(key) if isinstance(response, dict) else None


def expenses(history):
    found = {}
    for item in history:
        name = item["tool_name"]
        if not name.startswith("mcp_appworld_splitwise__"):
            continue
        call = item["call"]
        if name.endswith("record_expense"):
            new = made(item, "expense_id")
            if new is not None:
                found[new] = dict(call)
        elif name.endswith("update_expense") and call.get("expense_id") in found:
            found[call["expense_id"]].update(call)
    return [e for e in found.values() if "paid_amount" in e and "debtor_emails" in e and "payer_email" in e]


def shares(expense):
    debtors = expense["debtor_emails"]
    amounts = expense.get("debt_amounts") or [expense["paid_amount"] / len(debtors)] * len(debtors)
    return zip(debtors, amounts)


def of_january(expense):
    same = expense["payer_email"] == JANUARY["payer"] and list(expense["debtor_emails"]) == JANUARY["debtors"]
    return same and abs(expense["paid_amount"] - JANUARY["amount"]) < 0.01


def score(tools_history):
    found = [e for e in expenses(tools_history) if not of_january(e)]
    owed = {}
    for expense in found:
        owed[expense["payer_email"]] = owed.get(expense["payer_email"], 0.0) - expense["paid_amount"]
        for person, amount in shares(expense):
            owed[person] = owed.get(person, 0.0) + amount
    right = [abs(owed.get(email, 0.0) - amount) < 0.03 for email, amount in PEOPLE.values()]
    card = sum(e["paid_amount"] for e in found if e["payer_email"] == OWN)
    grouped = bool(found) and all(e.get("group_id") for e in found)
    return {"shares": int(all(right)), "card": int(grouped and abs(card - 332.0) < 0.01)}
