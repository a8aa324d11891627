import re
import subprocess

from conftest import BINARY, SOURCE


def routes_of_the_binary():
    text = subprocess.run([BINARY, "serve", "--print-routes"], capture_output=True, text=True,
                          check=True).stdout
    return {tuple(line.split(" ", 1)) for line in text.splitlines()}


def routes_of_the_contract():
    """(METHOD, path) of openapi.yaml; its layout is fixed: two blanks path, four blanks method."""
    routes, path = set(), None
    with open(f"{SOURCE}/api/openapi.yaml") as file:
        for line in file:
            if match := re.match(r"  (/[^:]*):", line):
                path = match.group(1)
            elif match := re.match(r"    (get|put|post|delete):", line):
                routes.add((match.group(1).upper(), path))
    return routes


def test_table_and_contract_agree():
    binary, contract = routes_of_the_binary(), routes_of_the_contract()
    assert binary - contract == set(), "routes missing in openapi.yaml"
    assert contract - binary == set(), "routes missing in api/routes.c"


def test_problem_types_agree():
    with open(f"{SOURCE}/api/problems.c") as file:
        table = set(re.findall(r'\] =\s*\{\s*"([a-z-]+)",', file.read()))
    with open(f"{SOURCE}/api/openapi.yaml") as file:
        contract = set(re.findall(r"^ +- /problems/([a-z-]+)$", file.read(), re.M))
    assert table == contract


def test_it_is_served(server):
    answer = server.get("/openapi.yaml")
    assert answer.status == 200 and answer.body.startswith(b"openapi: 3.1.0")
