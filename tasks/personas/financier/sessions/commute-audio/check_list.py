"""Looks at the playlist that the session made: what is on it in the end, how long it is, and in which order."""

BELL = "Harbour Bell"
MAY = {"Lantern Hill", "Slow Boat to Skerry", "Tide Table", "Paper Kites", "Nine Wells", "Winter Barley", "Low Road", "Granite"}


def walk(value, songs):
    if isinstance(value, dict):
        if "song_id" in value and "duration" in value and "title" in value:
            songs[value["song_id"]] = value
        for part in value.values():
            walk(part, songs)
    elif isinstance(value, list):
        for part in value:
            walk(part, songs)


def made(item, key):
    """The id of what a call made; None of one that was refused."""
    result = item["result"]
    response = result.get("response") if isinstance(result, dict) else None
    return response.get(key) if isinstance(response, dict) else None


def score(tools_history):
    songs, lists = {}, {}
    for item in tools_history:
        walk(item["result"], songs)
        name = item["tool_name"].rpartition("__")[2]
        call = item["call"]
        if name == "create_playlist":
            new = made(item, "playlist_id")
            if new is not None:
                lists[new] = []
        elif name == "add_song_to_playlist" and call.get("playlist_id") in lists:
            lists[call["playlist_id"]].append(call.get("song_id"))
        elif name == "remove_song_from_playlist" and call.get("playlist_id") in lists:
            if call.get("song_id") in lists[call["playlist_id"]]:
                lists[call["playlist_id"]].remove(call["song_id"])
    ids = max(lists.values(), key=len) if lists else []
    chosen = [songs[i] for i in ids if i in songs]
    known = bool(chosen) and len(chosen) == len(ids)
    seconds = sum(s["duration"] for s in chosen)
    by = [(s["title"], {a["name"] for a in s.get("artists", [])}) for s in chosen]
    # Its record is with them, though the song names Ida Fenwright alone.
    ferry = any(title == "Blue Ferry" for title, _ in by)
    wren = [artists for title, artists in by if title.startswith("The Wren")]
    return {
        "length": int(known and 37 * 60 <= seconds <= 38 * 60),
        "wren": int(bool(wren) and all("Corrigan & Vale" in artists for artists in wren)),
        "trombone": int(known and not ferry and not any("Brasswick Brothers" in artists for _, artists in by)),
        "bell": int(known and by[-1][0] == BELL),
        "fresh": int(known and len(set(ids)) == len(ids) and not any(title in MAY for title, _ in by)),
    }
