#!/usr/bin/env python3
"""clang-format, cppcheck, clang-tidy and prettier over the sources; banned names.

usage: check_tools.py SOURCE_FOLDER BUILD_FOLDER
Each tool that is missing on this machine is named; all missing = skipped (exit 77).
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BANNED = re.compile(r"\b(?:utils|manager|tmp2)\b|\bprocess\s*\(")


def tracked(root, pattern):
    names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                           capture_output=True, text=True, check=False).stdout.split("\n")
    return [n for n in names if re.fullmatch(pattern, n) and (pathlib.Path(root) / n).is_file()]


def check_format(root, _):
    names = tracked(root, r"(render|recon|server|api|tests)/.*\.(c|h|cu|cuh)")
    run = subprocess.run(["clang-format", "--dry-run", "--Werror", *names], cwd=root,
                         capture_output=True, text=True, check=False)
    return run.returncode, "\n".join(run.stderr.split("\n")[:40])


def check_cppcheck(root, build):
    run = subprocess.run(
        ["cppcheck", "--quiet", "--error-exitcode=1", "--enable=warning,portability",
         "--inline-suppr", "--std=c11", "-j2", "--suppress=missingIncludeSystem",
         "--suppress=normalCheckLevelMaxBranches", "--suppress=checkersReport",
         "-I", root, "-I", build,
         *[f"{root}/{f}" for f in ("render", "recon", "server", "api")]],
        capture_output=True, text=True, check=False)
    return run.returncode, run.stderr


GCC_ONLY = re.compile(r"\s-(?:ftrivial-auto-var-init=zero|Wtrampolines|fcf-protection=full"
                      r"|fstack-clash-protection|fno-trapping-math|march=\S+)")


def check_tidy(root, build):
    commands = pathlib.Path(build) / "compile_commands.json"
    if not commands.is_file():
        return 1, "no compile_commands.json: configure first"
    names = tracked(root, r"(render|recon|server|api)/.*\.c")
    with tempfile.TemporaryDirectory() as folder:
        entries = json.loads(commands.read_text(encoding="utf-8"))
        for entry in entries:
            entry["command"] = GCC_ONLY.sub("", entry["command"])
        (pathlib.Path(folder) / "compile_commands.json").write_text(json.dumps(entries))

        def one(name):
            return subprocess.run(["clang-tidy", "--quiet", "-p", folder, f"{root}/{name}"],
                                  capture_output=True, text=True, check=False)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(one, names))
    text = "".join(r.stdout for r in runs if r.returncode)
    return int(any(r.returncode for r in runs)), text


def check_prettier(root, _):
    run = subprocess.run(["node_modules/.bin/prettier", "--check", "static",
                          "--no-error-on-unmatched-pattern", "tests/browser"],
                         cwd=root, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def check_names(root, _):
    faults = []
    for name in tracked(root, r"(render|recon|server|api)/.*\.(c|h|cu|cuh)"):
        for number, line in enumerate((pathlib.Path(root) / name).read_text().split("\n"), 1):
            code = re.sub(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|//.*', "", line)
            if BANNED.search(code) and not code.lstrip().startswith("*"):
                faults.append(f"{name}:{number}: banned name: {line.strip()}")
            if re.search(r"\b(?:TODO|FIXME|XXX)\b", line):
                faults.append(f"{name}:{number}: open items live in docs/status.md: {line.strip()}")
    return int(bool(faults)), "\n".join(faults)


def main(root, build):
    checks = [("clang-format", check_format), ("cppcheck", check_cppcheck),
              ("clang-tidy", check_tidy), ("node_modules/.bin/prettier", check_prettier),
              (None, check_names)]
    failed, skipped = False, []
    for tool, check in checks:
        if tool == "clang-tidy" and not os.environ.get("RETAKE_TIDY"):
            skipped.append("clang-tidy (takes minutes; RETAKE_TIDY=1 runs it)")
            continue
        if tool and not shutil.which(tool) and not (pathlib.Path(root) / tool).is_file():
            skipped.append(tool)
            continue
        code, text = check(root, build)
        print(f"{tool or 'names'}: {'ok' if code == 0 else 'FAILED'}")
        if code:
            failed = True
            print(text[:8000])
    if skipped:
        print("skipped:", ", ".join(skipped))
    if failed:
        return 1
    return 77 if len(skipped) == len(checks) - 1 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
