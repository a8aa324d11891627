import hashlib
import time

import numpy as np
import pytest
from conftest import Server, ball_ply, ply_bytes


def test_upload_look_delete(server):
    body = ball_ply()
    digest = hashlib.sha256(body).hexdigest()
    made = server.put(f"/v1/scenes/up?axes=flu&name=Two%20balls&kind=asset&sha256={digest}", body)
    assert made.status == 201 and made.headers["Location"] == "/v1/scenes/up"
    row = made.json()
    assert row["digest"] == "sha256:" + digest and row["version"] == digest[:8]
    assert row["name"] == "Two balls" and row["kind"] == "asset" and row["splats"] == 400
    assert row["axes"] == "flu" and row["state"] == "unloaded" and row["reason"] == "never-loaded"
    assert row["bounds"]["min"][0] > 4 and row["default_view"]["q_wxyz"]
    got = server.get("/v1/scenes/up")
    assert got.headers["ETag"] == f'"{digest}"'
    assert server.get("/v1/scenes/up", If_None_Match=got.headers["ETag"]).status == 304
    assert server.request("DELETE", "/v1/scenes/up").status == 204
    assert server.get("/v1/scenes/up").problem() == "not-found"


def test_replace_needs_if_match(server):
    first, second = ball_ply(), ply_bytes([[1, 0, 0]], [[1, 1, 1]])
    etag = '"' + server.put("/v1/scenes/re", first).json()["digest"][7:] + '"'
    assert server.put("/v1/scenes/re", first).status == 200, "the same digest is a no-op"
    taken = server.put("/v1/scenes/re", second)
    assert taken.problem() == "scene-exists" and taken.json()["digest"]
    assert server.put("/v1/scenes/re", second, If_Match='"0"').problem() == "precondition-failed"
    server.post("/v1/scenes/re/load")
    replaced = server.put("/v1/scenes/re", second, If_Match=etag)
    assert replaced.status == 200 and replaced.json()["splats"] == 1
    assert replaced.json()["state"] == "loaded", "a loaded instance is replaced in memory"
    assert server.put("/v1/scenes/new", second, If_Match=etag).problem() == "precondition-failed"


@pytest.mark.parametrize("body", [b"nothing of the kind", ball_ply()[:-5], b"ply\nformat x 1.0\n"])
def test_bad_files_never_appear(server, body):
    answer = server.put("/v1/scenes/bad", body)
    assert answer.problem() == "invalid-file" and answer.json()["findings"]
    assert server.get("/v1/scenes/bad").status == 404


def test_wrong_digest_and_parameters(server):
    answer = server.put("/v1/scenes/bad?sha256=" + "0" * 64, ball_ply())
    assert answer.problem() == "digest-mismatch"
    assert answer.json()["actual"] == hashlib.sha256(ball_ply()).hexdigest()
    misspelt = server.put("/v1/scenes/bad?axis=flu", ball_ply())
    assert 'did you mean "axes"' in misspelt.json()["detail"]
    assert server.put("/v1/scenes/bad?axes=xyz", ball_ply()).problem() == "invalid-request"
    assert server.put("/v1/scenes/bad.dot", ball_ply()).problem() == "not-found"
    assert server.put("/v1/scenes/bad", b"").problem() == "invalid-request"
    assert server.get("/v1/scenes/bad").status == 404


def test_list_filters_and_pages(server, ball):
    for name in ("page1", "page2"):
        server.put(f"/v1/scenes/{name}?kind=asset", ball_ply())
    ids = [row["id"] for row in server.get("/v1/scenes?q=page").json()["items"]]
    assert ids == ["page1", "page2"]
    first = server.get("/v1/scenes?kind=asset&q=page&limit=1").json()
    assert [row["id"] for row in first["items"]] == ["page1"] and first["next"] == "page1"
    rest = server.get(f"/v1/scenes?kind=asset&q=page&limit=1&cursor={first['next']}").json()
    assert [row["id"] for row in rest["items"]] == ["page2"] and rest["next"] is None
    assert server.get("/v1/scenes?limit=0").problem() == "invalid-request"


def test_load_pin_unload(server, ball):
    row = server.post(ball + "/load", {"pin": True}).json()
    assert row["state"] == "loaded" and row["pinned"] and row["device_bytes"] > 0
    assert server.post(ball + "/unload").problem() == "scene-busy"
    assert server.request("DELETE", ball).json()["users"] == ["pin"]
    server.post(ball + "/load", {"pin": False})
    row = server.post(ball + "/unload").json()
    assert row["state"] == "unloaded" and row["reason"] == "requested" and row["device_bytes"] == 0
    assert server.post(ball + "/unload").status == 200, "idempotent"
    assert server.post(ball + "/load", Prefer="respond-async").status == 202
    assert server.request("POST", ball + "/load").status == 200, "a body is not needed"
    assert server.post(ball + "/load", {"pim": True}).problem() == "invalid-request"
    assert server.post("/v1/scenes/nix/load").json()["resource"] == "scene"


def test_keep_alive_expires(server, ball):
    server.post(ball + "/load", {"keep_alive_s": 0})
    for _ in range(100):
        row = server.get(ball).json()
        if row["state"] == "unloaded":
            break
        time.sleep(0.05)
    assert row["reason"] == "keep-alive-expired"
    server.post(ball + "/load")


def test_budget_evicts_least_recent_and_refuses_giants():
    rng = np.random.default_rng(2)
    body = ply_bytes(rng.normal(0, 1, (1000, 3)), rng.random((1000, 3)))
    running = Server("--memory-bytes", "100000")  # a scene of 1000 splats needs 56 000
    try:
        for name in ("a", "b"):
            running.put(f"/v1/scenes/{name}", body)
            assert running.post(f"/v1/scenes/{name}/load").json()["state"] == "loaded"
        assert running.get("/v1/scenes/a").json()["reason"] == "evicted"
        running.post("/v1/scenes/b/load", {"pin": True})
        full = running.post("/v1/scenes/a/load")
        assert full.problem() == "device-memory" and full.headers["Retry-After"]
        giant = ply_bytes(rng.normal(0, 1, (3000, 3)), rng.random((3000, 3)))
        running.put("/v1/scenes/giant", giant)
        assert running.post("/v1/scenes/giant/load").problem() == "scene-too-large"
    finally:
        assert running.stop() == 0


def test_scenes_survive_a_restart(tmp_path):
    data = str(tmp_path / "data")
    running = Server(data=data)
    row = running.put("/v1/scenes/kept?name=Kept", ball_ply()).json()
    assert running.stop() == 0
    (tmp_path / "data/scenes/dropped.ply").write_bytes(ball_ply())
    (tmp_path / "data/scenes/half.0123456789abcdef.ply").write_bytes(b"ply")
    running = Server(data=data)
    try:
        again = running.get("/v1/scenes/kept").json()
        assert again["digest"] == row["digest"] and again["name"] == "Kept"
        assert again["bounds"] == row["bounds"]
        assert running.get("/v1/scenes/dropped").json()["splats"] == 400, "put there by hand"
        assert not (tmp_path / "data/scenes/half.0123456789abcdef.ply").exists()
        assert running.get("/v1/scenes/dropped/frames/default/0.png?w=32").status == 200
    finally:
        assert running.stop() == 0


def test_contents(server, ball):
    cameras = server.get(ball + "/sensors").json()["cameras"]
    assert [c["id"] for c in cameras] == ["default"] and cameras[0]["virtual"]
    assert cameras[0]["camera"]["width_px"] == 960
    timeline = server.get(ball + "/timeline").json()
    assert timeline["sensors"] == [] and timeline["version"]
    assert server.get(ball + "/trajectory").json()["items"][0]["T_world_rig"]["t_us"] == []
    assert server.get(ball + "/trajectory?sensor=nix").problem() == "not-found"


def test_export_comes_back_the_same(server, ball):
    ply = server.get(ball + "/export.ply?axes=flu")
    assert ply.status == 200 and ply.body.startswith(b"ply")
    unchanged = server.get(ball + "/export.ply?axes=flu", If_None_Match=ply.headers["ETag"])
    assert unchanged.status == 304
    part = server.get(ball + "/export.ply?axes=flu", Range="bytes=0-2")
    assert part.status == 206 and part.body == b"ply"
    assert server.put("/v1/scenes/back?axes=flu", ply.body).json()["splats"] == 400
    view = "/frames/default/0.raw?w=64"
    a, b = server.get(ball + view), server.get("/v1/scenes/back" + view)
    a, b = (np.frombuffer(answer.body, np.uint8).astype(int) for answer in (a, b))
    assert np.abs(a - b).max() <= 1
    spz = server.get(ball + "/export.spz")
    assert server.put("/v1/scenes/rounded", spz.body).json()["axes"] == "rub"
    c = np.frombuffer(server.get("/v1/scenes/rounded" + view).body, np.uint8).astype(int)
    assert a.max() > 50 and np.abs(a - c).mean() < 1 and np.abs(a - c).max() <= 24
    assert server.get(ball + "/export.spz?axes=flu").status == 400, "SPZ has no name for these"
    assert server.get(ball + "/export.glb").problem() == "unsupported-feature"
    assert server.get(ball + "/export.doc").problem() == "not-found"


def test_import_stays_below_the_data_root(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "in.ply").write_bytes(ball_ply())
    (tmp_path / "out.ply").write_bytes(ball_ply())
    (root / "link.ply").symlink_to(tmp_path / "out.ply")
    running = Server("--data-root", str(root))
    try:
        assert running.post("/v1/scenes", {"id": "in", "path": "in.ply"}).status == 201
        again = running.post("/v1/scenes", {"id": "in", "path": "in.ply"})
        assert again.problem() == "scene-exists"
        for path in ("../out.ply", "link.ply", str(tmp_path / "out.ply"), "nix.ply", "."):
            answer = running.post("/v1/scenes", {"id": "x", "path": path})
            assert answer.problem() == "invalid-request", path
        running.request("DELETE", "/v1/scenes/in")
        assert (root / "in.ply").exists(), "imported files stay"
    finally:
        assert running.stop() == 0
