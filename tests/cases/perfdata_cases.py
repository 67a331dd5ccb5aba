#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Per case: ^perfdata
"""What is in a recording: `info` against an independent reader's count of the same file.

expected/NAME.summary.json holds records per type, samples per event, features and losses;
NAME.samples.json the first and last time of SAMPLE records and the sums of both kinds of loss;
facts.json what the maker of a synthetic file knows about it. Each recorded case has a twin in the other
byte order (swapped/), which must give the same answer.
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from harness import Test  # noqa: E402

# The twin holds the same records without their compressed wrapping.
WRAPPINGS = {"COMPRESSED", "COMPRESSED2"}
# Files that end early: killed or cut.
INCOMPLETE = {("sigkilled_tracepoint", "perf.data"), ("truncated_tail", "perf.data")}


def recording_of(info):
    recording = info["recording"]
    return recording[0] if isinstance(recording, list) else recording


def check_records(test, name, info, summary, is_twin):
    got = {kind: count for kind, count in info["records"].items() if count}
    want = dict(summary["records"])
    if is_twin:
        want = {kind: count for kind, count in want.items() if kind not in WRAPPINGS}
    # A type that perf has no name for is a number in the summary; only how many there are is compared.
    nameless = sum(count for kind, count in want.items() if kind.isdigit())
    named = {kind: count for kind, count in want.items() if not kind.isdigit()}
    test.equal({kind: count for kind, count in got.items() if kind in named}, named, f"{name}: records")
    test.equal(sum(count for kind, count in got.items() if kind not in named), nameless,
               f"{name}: records of unknown types")


def check_events(test, name, info, summary, only_decoded):
    got = {event["name"]: event["samples"] for event in info["events"] if event["samples"]}
    want = summary["samples_per_event"]
    if all(event.isdigit() for event in want):
        # No EVENT_DESC: the independent reader has no names, only attr numbers.
        test.equal(sorted(got.values()), sorted(want.values()), f"{name}: samples per unnamed event")
    elif only_decoded:
        test.equal(got, want, f"{name}: samples per event")
    names = [attr["name"] for attr in summary["attrs"]]
    test.equal(len(info["events"]), len(set(names)) if all(names) else len(names), f"{name}: number of events")


def check_file(test, path, summary, samples, is_twin):
    name = ("swapped/" if is_twin else "") + path.name
    info = test.json("info", "-i", path)
    recording = recording_of(info)
    test.equal(info["schema"], "perf-latency.info.v1", f"{name}: schema")
    want_order = summary["endian"]
    if is_twin:
        want_order = {"little": "big", "big": "little"}[want_order]
    test.equal(info["byte_order"], want_order, f"{name}: byte order")
    test.equal(info["mode"], {"dir": "directory"}.get(summary["mode"], summary["mode"]), f"{name}: mode")
    check_records(test, name, info, summary, is_twin)
    check_events(test, name, info, summary, only_decoded=True)
    test.equal(recording["samples"], samples["samples"], f"{name}: samples")
    test.equal(recording["start_ns"], samples["first_sample_ns"], f"{name}: first sample")
    test.equal(recording["end_ns"], samples["last_sample_ns"], f"{name}: last sample")
    test.equal(recording["lost"], max(samples["lost_records"], samples["lost_samples"]), f"{name}: lost")
    test.equal(info["unknown_id"], summary["unknown_id_records"], f"{name}: unknown ids")
    test.equal(info["undecodable"], summary["undecodable_records"], f"{name}: undecodable records")
    wanted_features = {feature for feature in summary["features"] if isinstance(feature, str)}
    if is_twin:
        # Which features a twin carries was up to the program that made it.
        wanted_features -= {"COMPRESSED", "BPF_PROG_INFO", "BPF_BTF", "DIR_FORMAT"}
    test.check(wanted_features <= set(info["features"]),
               f"{name}: features missing: {sorted(wanted_features - set(info['features']))}")
    if not is_twin:
        complete = (test.case.split("/")[1], path.name) not in INCOMPLETE
        test.equal(recording["complete"], complete, f"{name}: complete")


def check_facts(test, path, facts):
    info = test.json("info", "-i", path)
    name = path.parent.name
    decoded = recording_of(info)["samples"] - info["undecodable"] - info["unknown_id"]
    for key in ("samples", "good_samples"):
        if key in facts:
            test.equal(decoded, facts[key], f"{name}: {key}")
    if "unknown_types" in facts:
        test.equal(info["unknown_id"], facts["unknown_id"], f"{name}: unknown ids")
        test.equal(info["undecodable"], facts["too_short"], f"{name}: samples too short")
        # One of them, BPF_METADATA, is newer than the maker of the file and known here.
        unknown = [entry["count"] for entry in info["diagnostics"] if entry["id"] == "unknown-record"]
        test.equal(unknown, [facts["unknown_types"] - info["records"]["BPF_METADATA"]],
                   f"{name}: records of unknown types")
    if "compressed2_records" in facts:
        test.equal(info["records"]["COMPRESSED2"], facts["compressed2_records"], f"{name}: COMPRESSED2")
    if "switches" in facts:
        check_states(test, path, facts)


def letter_of(switch):
    """Before 4.14 an idle kernel thread was D|N; it counts as I, which it has been since."""
    return "I" if switch["meaning"] == "idle" and switch["text"][0] == "D" else switch["text"].split("|")[0]


def check_states(test, path, facts):
    """The letter of each switch-out comes from the file's own format. Tasks that end do not sleep."""
    name, tid = path.parent.name, facts["switches"][0]["tid"]
    report = test.json("report", "-i", path, "--by", "state", "--state", "all", "--kernel-threads",
                       "--limit", "0", "--tid", tid)
    got = {row["state"]: row["count"] for row in report["rows"] if not row["state"].startswith("R")}
    want = {}
    for switch in facts["switches"]:
        if switch["off_cpu_is_voluntary"] and not set(switch["text"]) & set("XZx"):
            want[letter_of(switch)] = want.get(letter_of(switch), 0) + 1
    test.equal(got, want, f"{name}: sleeps by state")


def main():
    test = Test()
    folder = test.data / test.case
    for expected in sorted((folder / "expected").glob("*.summary.json")):
        summary = json.loads(expected.read_text())
        samples_file = expected.with_name(expected.name.replace(".summary.", ".samples."))
        samples = json.loads(samples_file.read_text())
        path = folder / samples["file"]
        check_file(test, path, summary, samples, is_twin=False)
        twin = folder / "swapped" / samples["file"]
        if twin.exists():
            check_file(test, twin, summary, samples, is_twin=True)
        if (folder / "facts.json").is_file():
            check_facts(test, path, json.loads((folder / "facts.json").read_text()))
    test.finish()


main()
