#!/usr/bin/env python3
"""Limits of the house: file, function, parameters, nesting, line, function table.

usage: check_sizes.py SOURCE_FOLDER [BUILD_FOLDER]
An exception is one line in docs/decisions.md that begins with "Size exception: PATH".
"""
import pathlib
import re
import subprocess
import sys

MAX_FILE, MAX_FUNCTION, MAX_KERNEL = 600, 60, 80
MAX_PARAMETERS, MAX_NESTING, MAX_LINE, MAX_TABLE = 6, 4, 100, 10
SOURCES = (".c", ".h", ".cu", ".cuh", ".js", ".py", ".css", ".html", ".sh")
C_LIKE = (".c", ".h", ".cu", ".cuh")


def tracked(root):
    names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                           capture_output=True, text=True, check=False).stdout.split("\n")
    if names == [""]:
        names = [str(p.relative_to(root)) for p in pathlib.Path(root).rglob("*") if p.is_file()]
    return [n for n in names if n.endswith(SOURCES) and (pathlib.Path(root) / n).is_file()]


def exceptions(root):
    text = (pathlib.Path(root) / "docs/decisions.md").read_text(encoding="utf-8")
    return set(re.findall(r"^Size exception: (\S+)", text, re.M))


def strip(text):
    """Blanks comments, strings and characters, keeping line breaks."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text,
                  flags=re.S)


FUNCTION = re.compile(r"^[A-Za-z_][\w\s\*\(\),]*?\b([A-Za-z_]\w*)\s*\(([^;{}]*)\)\s*\{", re.M)


def functions(text):
    """(name, parameters, first line, lines, depth) of every top-level function."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)),
                  strip(text), flags=re.M)
    for match in FUNCTION.finditer(code):
        head = match.group(0)
        if head.startswith(("struct", "enum", "union", "typedef")) and ")" not in head:
            continue
        depth, worst, i = 0, 0, match.end() - 1
        initialiser = []
        while i < len(code):
            if code[i] == "{":
                is_data = re.search(r"[=,\(\{\)]\s*$", code[max(0, i - 40):i]) and not re.search(
                    r"\)\s*$", code[max(0, i - 40):i])
                initialiser.append(bool(is_data))
                if not is_data:
                    depth += 1
                    worst = max(worst, depth)
            elif code[i] == "}":
                if not initialiser.pop():
                    depth -= 1
                if not initialiser:
                    break
            i += 1
        first = code.count("\n", 0, match.start()) + 1
        last = code.count("\n", 0, i) + 1
        parameters = [p for p in match.group(2).split(",") if p.strip() not in ("", "void")]
        yield match.group(1), len(parameters), first, last - first + 1, worst - 1, head


def check_c(name, text, complain):
    for function, n_parameters, line, length, nesting, head in functions(text):
        limit = MAX_KERNEL if "__global__" in head else MAX_FUNCTION
        where = f"{name}:{line}: {function}"
        if length > limit:
            complain(name, f"{where}: {length} lines, limit {limit}")
        if n_parameters > (2 if "__global__" in head else MAX_PARAMETERS):
            complain(name, f"{where}: {n_parameters} parameters, limit {MAX_PARAMETERS}")
        if nesting > MAX_NESTING:
            complain(name, f"{where}: nesting {nesting}, limit {MAX_NESTING}")
    for match in re.finditer(r"struct (\w+_ops) \{(.*?)\n\}", strip(text), re.S):
        entries = match.group(2).count("(*")
        if entries > MAX_TABLE:
            complain(name, f"{name}: struct {match.group(1)}: {entries} entries, limit {MAX_TABLE}")


def main(root):
    allowed, faults = exceptions(root), []

    def complain(name, text):
        if name not in allowed:
            faults.append(text)

    names = tracked(root)
    for name in names:
        text = (pathlib.Path(root) / name).read_text(encoding="utf-8", errors="replace")
        lines = text.split("\n")
        if len(lines) - 1 > MAX_FILE:
            complain(name, f"{name}: {len(lines) - 1} lines, limit {MAX_FILE}")
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_LINE and "http" not in line:
                complain(name, f"{name}:{number}: {len(line)} columns, limit {MAX_LINE}")
        if name.endswith(C_LIKE):
            check_c(name, text, complain)
    print("\n".join(faults) or f"{len(names)} files within the limits")
    return 1 if faults or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
