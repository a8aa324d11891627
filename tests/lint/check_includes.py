#!/usr/bin/env python3
"""The dependency law of the architecture, checked on #include lines.

usage: check_includes.py SOURCE_FOLDER [BUILD_FOLDER]
"""
import pathlib
import re
import subprocess
import sys

# folder -> folders whose headers it may include (itself always).
LAW = {
    "render/core": [],
    "render/io": ["render/core"],
    "render/cpu": ["render/core", "render/stages.h"],
    "render/cuda": ["render/core", "render/stages.h"],
    "render": ["render/core", "render/io", "render/cpu", "render/cuda"],
    "recon/formats": ["render/core", "render/io", "render", "recon"],
    "recon/cpu": ["render/core", "render", "recon"],
    "recon/cuda": ["render/core", "render", "recon"],
    "recon": ["render/core", "render/io", "render", "recon/formats", "recon/cpu", "recon/cuda"],
    "server": ["render/core"],
    "api": ["render/core", "render/io", "render", "recon", "server"],
}
# library header -> folders or files that may include it
HOMES = {
    r"microhttpd\.h": [r"server/.*"],
    r"sqlite3\.h": [r"server/.*"],
    r"jansson\.h": [r"api/.*", r"(recon|render/io)/.*\.[ch]", r"server/command_.*\.c"],
    r"png\.h": [r"render/io/image_png\.c"],
    r"(turbo)?jpeg(lib)?\.h": [r"render/io/image_jpeg\.c"],
    r"cuda.*\.h": [r".*/cuda/.*"],
}


def folder_of(path):
    parts = path.split("/")
    for n in (2, 1):
        if "/".join(parts[:n]) in LAW and len(parts) > n:
            return "/".join(parts[:n])
    return None


def allowed(source, header):
    here, there = folder_of(source), folder_of(header)
    if here is None or there is None or here == there:
        return True
    if re.fullmatch(r"server/(main|command_\w+)\.c", source):
        return True
    return any(header.startswith(rule) if rule.endswith(".h") else there == rule
               for rule in LAW[here])


def check_file(root, name, faults):
    text = (pathlib.Path(root) / name).read_text(encoding="utf-8", errors="replace")
    includes = re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', text, re.M)
    for number, (kind, header) in enumerate(includes):
        if kind == '"':
            if header.startswith(".") or ("/" not in header and header != "retake_version.h"):
                faults.append(f'{name}: "{header}" must be written from the root')
            elif not allowed(name, header):
                faults.append(f'{name}: {folder_of(name)} must not include "{header}"')
        for library, homes in HOMES.items():
            if re.fullmatch(library, header) and not any(re.fullmatch(h, name) for h in homes):
                if folder_of(name):
                    faults.append(f"{name}: <{header}> belongs to {' '.join(homes)}")
    own = re.sub(r"\.c$", ".h", name)
    if name.endswith(".c") and (pathlib.Path(root) / own).is_file():
        if not includes or includes[0][1] != own:
            faults.append(f'{name}: must include its own header "{own}" first')


def main(root):
    names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                           capture_output=True, text=True, check=False).stdout.split("\n")
    names = [n for n in names if re.fullmatch(r"(render|recon|server|api)/.*\.(c|h|cu|cuh)", n)
             and (pathlib.Path(root) / n).is_file()]
    faults = []
    for name in names:
        check_file(root, name, faults)
    print("\n".join(faults) or f"{len(names)} files keep the dependency law")
    return 1 if faults or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
