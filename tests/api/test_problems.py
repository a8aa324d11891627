import glob
import re

from conftest import SOURCE


def table():
    with open(f"{SOURCE}/api/problems.c") as file:
        return re.findall(r'\] =\s*\{\s*"([a-z-]+)",\s*(\d+),', file.read())


def test_every_type_has_a_page(server):
    rows = table()
    assert len(rows) > 35
    for name, status in rows:
        page = server.get(f"/problems/{name}")
        assert page.status == 200 and name in page.body.decode() and status in page.body.decode()
    assert server.get("/problems/nonsense").problem() == "not-found"


def test_faults_below_the_handlers(server, ball):
    assert server.get("/v1/nonsense").problem() == "not-found"
    wrong = server.request("PATCH", ball)
    assert wrong.problem() == "method-not-allowed" and "PUT" in wrong.headers["Allow"]
    form = server.request("POST", ball + "/render/camera", "a=1",
                          Content_Type="application/x-www-form-urlencoded")
    assert form.problem() == "unsupported-media-type"
    assert server.get("/v1/version", Host="evil.example").problem() == "forbidden-host"
    assert server.get("/v1/version", Origin="http://evil.example").problem() == "forbidden-origin"
    large = server.request("POST", ball + "/render/camera", "x" * 300000,
                           Content_Type="application/json")
    assert large.problem() == "body-too-large"
    assert server.get("/v1/scenes?q=" + "x" * 9000).problem() == "uri-too-long"


def test_json_that_is_none(server, ball):
    for body in ("{", "[]", "3", '{"a":1,"a":2}', "[" * 70, '{"a":"\\u0000"}', "{}x"):
        answer = server.request("POST", ball + "/render/camera", body,
                                Content_Type="application/json")
        assert answer.problem() == "malformed-json", body


def test_request_id_is_kept(server):
    answer = server.get("/v1/scenes/nix", X_Request_Id="my-id.7")
    assert answer.json()["request_id"] == "my-id.7" == answer.headers["X-Request-Id"]


# Types that these tests cannot provoke from outside, and why.
NOT_PROVOKED = {
    "bad-framing": "tests/unit/server/test_wire.c sends what no HTTP client sends",
    "slow-request": "takes the 10 s deadline; tests/unit/server/test_service.c shortens it",
    "headers-too-large": "tests/unit/server/test_wire.c",
    "range-not-satisfiable": "answered by the server below; tests/unit/server/test_http.c",
    "calibration": "every lens this version draws is invertible",
    "too-much-work": "needs 2^31 pairs; tests/unit/render/test_render.c lowers the bound",
    "queue-full": "tests/unit/api/test_engine.c",
    "scene-loading": "needs a load that takes seconds",
    "draining": "tests/unit/api/test_engine.c",
    "not-ready": "needs a hung device or a full disk",
    "storage-full": "tests/unit/server/test_service.c",
    "internal": "a defect",
    "idempotency-in-progress": "submissions with one key are answered one after the other",
}


def test_every_type_is_provoked():
    text = "".join(open(path).read() for path in glob.glob(f"{SOURCE}/tests/api/test_*.py"))
    checked = set(re.findall(r'== "([a-z-]+)"|in \("([a-z-]+)"|, "([a-z-]+)"\)', text))
    seen = {name for names in checked for name in names if name}
    missing = [name for name, _ in table() if name not in seen and name not in NOT_PROVOKED]
    assert missing == []
