"""Do two programs say the same of real files? `python3 tests/compare_reports.py OLD NEW PATH...`

Runs `simpack verify --json` with both programs over each path and prints for each the verdict, the processor seconds of
both, and every finding and gap that one of them has alone. Ends with 1 if anything differs.
"""

import json
import os
import resource
import subprocess
import sys


def report(program, path):
    """What a program says of a path, and the processor seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run([program, "verify", "--json", path], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        answer = json.loads(ran.stdout)
    except ValueError:
        answer = {"error": ran.stderr}
    return answer, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lines(answer):
    """Findings and gaps, a line each."""
    if "error" in answer:
        return {json.dumps(answer["error"], sort_keys=True)}
    found = {f"{one['level']} {one['lint']} | {one['subject']} | {one['message']}" for one in answer["findings"]}
    return found | {f"gap {one['topic']} | {one['subject']} | {one['reason']}" for one in answer["incomplete"]}


def main():
    """Compares all paths."""
    old, new, *paths = sys.argv[1:]
    differs = False
    for path in paths:
        (was, before), (now, after) = report(old, path), report(new, path)
        print(f"{os.path.basename(path)}  {now.get('verdict', 'error')}, {len(lines(now))} lines, "
              f"{before:.1f} s -> {after:.1f} s")
        for mark, alone in (("-", lines(was) - lines(now)), ("+", lines(now) - lines(was))):
            for line in sorted(alone):
                differs = True
                print(f"  {mark} {line[:300]}")
        sys.stdout.flush()
    sys.exit(differs)


main()
