"""Recordings over HTTP: upload, import, checks, pictures, removal."""

import gzip
import hashlib
import json
import os
import socket
import time

import numpy as np
import pytest
from conftest import Server
from recordings import submit, tar_bytes, transforms, wait_state, zip_bytes


@pytest.fixture(scope="module")
def balls(server):
    archive = tar_bytes(transforms())
    answer = server.put("/v1/recordings/balls", archive)
    assert answer.status == 201, answer.body
    assert answer.headers["Location"] == "/v1/recordings/balls"
    return archive


def test_row_says_what_was_recorded(server, balls):
    row = server.get("/v1/recordings/balls").json()
    assert row["format"] == "nerfstudio" and row["frames"] == 8 and row["name"] == "balls"
    assert row["digest"] == "sha256:" + hashlib.sha256(balls).hexdigest()
    sensor = row["sensors"][0]
    assert sensor["size_px"] == [48, 32] and sensor["frames"]["count"] == 8
    assert row["t_begin_us"] == 0 and row["t_end_us"] > 0 and not row["imported"]
    assert [r["id"] for r in server.get("/v1/recordings").json()["items"]] == ["balls"]


def test_same_bytes_again_change_nothing(server, balls):
    assert server.put("/v1/recordings/balls", balls).status == 200


def test_other_bytes_need_if_match(server, balls):
    files = transforms(6)
    other = server.put("/v1/recordings/balls", tar_bytes(files))
    assert other.problem() == "recording-exists" and other.json()["digest"].startswith("sha256:")
    stale = server.put("/v1/recordings/balls", tar_bytes(files), If_Match='"0123"')
    assert stale.problem() == "precondition-failed"
    etag = server.get("/v1/recordings/balls").headers["ETag"]
    assert server.put("/v1/recordings/balls", tar_bytes(files), If_Match=etag).status == 200
    assert server.get("/v1/recordings/balls").json()["frames"] == 6
    etag = server.get("/v1/recordings/balls").headers["ETag"]
    assert server.put("/v1/recordings/balls", balls, If_Match=etag).status == 200
    missing = server.put("/v1/recordings/nix", balls, If_Match="*")
    assert missing.problem() == "precondition-failed"


@pytest.mark.parametrize("archive", [zip_bytes(transforms()), tar_bytes(transforms(), "w:gz"),
                                     tar_bytes({"deep/" + k: v for k, v in transforms().items()})])
def test_every_archive_form(server, archive):
    answer = server.put("/v1/recordings/form", archive)
    assert answer.status == 201 and answer.json()["frames"] == 8
    assert server.request("DELETE", "/v1/recordings/form").status == 204
    assert server.get("/v1/recordings/form").status == 404


def test_digest_is_checked(server):
    archive = tar_bytes(transforms())
    wrong = server.put("/v1/recordings/d?sha256=" + "0" * 64, archive)
    assert wrong.problem() == "digest-mismatch"
    assert wrong.json()["actual"] == hashlib.sha256(archive).hexdigest()
    assert server.get("/v1/recordings/d").status == 404
    assert server.put("/v1/recordings/d?sha256=12", archive).problem() == "invalid-request"


def bad_archives():
    files = transforms()
    no_pose = dict(files)
    no_pose["transforms.json"] = json.dumps({"frames": []}).encode()
    escape = dict(files)
    escape["../evil.txt"] = b"x"
    photos = {k: v for k, v in files.items() if k.endswith("png")}
    return [b"no archive at all", tar_bytes(files)[:5000], tar_bytes(no_pose), tar_bytes(escape),
            tar_bytes(photos), gzip.compress(b"\0" * 1000)]


@pytest.mark.parametrize("archive", bad_archives())
def test_bad_uploads_leave_nothing(server, archive):
    answer = server.put("/v1/recordings/bad", archive)
    assert answer.status == 422 and answer.problem() == "invalid-recording"
    assert answer.json()["findings"][0]["message"]
    assert server.get("/v1/recordings/bad").status == 404
    assert not [n for n in os.listdir(f"{server.data}/recordings") if n.startswith((".", "bad"))]


def test_bad_names(server):
    archive = tar_bytes(transforms(2))
    for name in ("a.b", "-a", "a%20b", "x" * 65):
        answer = server.put(f"/v1/recordings/{name}", archive)
        assert answer.problem() == "invalid-request", name
    unknown = server.get("/v1/recordings/nix")
    assert unknown.problem() == "not-found" and "known" in unknown.json()
    assert server.get("/v1/recordings?limt=3").problem() == "invalid-request"


def test_cut_uploads_leave_nothing(server):
    archive = tar_bytes(transforms())
    for part in np.random.default_rng(3).random(8):
        with socket.create_connection(("127.0.0.1", server.port)) as wire:
            wire.sendall(b"PUT /v1/recordings/cut HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                         b"Content-Length: %d\r\n\r\n" % len(archive))
            wire.sendall(archive[:int(part * len(archive))])
            time.sleep(0.2)  # so that the upload has begun
    end = time.monotonic() + 25  # a body may be silent for 10 s
    while os.listdir(f"{server.data}/uploads") and time.monotonic() < end:
        time.sleep(0.1)
    assert os.listdir(f"{server.data}/uploads") == []
    assert server.get("/v1/recordings/cut").status == 404


def test_recorded_frames(server, balls):
    first = server.get("/v1/recordings/balls/frames/camera/f0.png")
    assert first.status == 200 and first.headers["Content-Type"] == "image/png"
    assert first.headers["X-Frame-Index"] == "0" and first.headers["X-Frame-T-Us"] == "0"
    again = server.get("/v1/recordings/balls/frames/camera/f0.png",
                       If_None_Match=first.headers["ETag"])
    assert again.status == 304
    nearest = server.get("/v1/recordings/balls/frames/camera/290000.jpg?w=24")
    assert nearest.status == 200 and nearest.headers["X-Frame-Index"] == "3"
    assert nearest.body[:2] == b"\xff\xd8"
    unknown = server.get("/v1/recordings/balls/frames/nix/f0.png")
    assert unknown.problem() == "not-found" and unknown.json()["known"] == ["camera"]
    assert server.get("/v1/recordings/balls/frames/camera/f99.png").problem() == "not-found"
    other = server.get("/v1/recordings/balls/frames/camera/f0.exr")
    assert other.problem() == "not-acceptable"


def test_check(server, balls):
    assert server.post("/v1/recordings/balls/check").json() == {"ok": True, "findings": []}
    files = transforms()
    files["images/003.png"] = files["images/003.png"][:60]  # header whole, pixels cut
    assert server.put("/v1/recordings/cut-pixels", tar_bytes(files)).status == 201
    shallow = server.post("/v1/recordings/cut-pixels/check", {"deep": False}).json()
    deep = server.post("/v1/recordings/cut-pixels/check", {"deep": True}).json()
    assert shallow["ok"] and not deep["ok"]
    assert any("003" in f["message"] + str(f["file"]) for f in deep["findings"])
    assert server.post("/v1/recordings/balls/check", {"dep": 1}).problem() == "invalid-request"
    assert server.post("/v1/recordings/nix/check").problem() == "not-found"


def test_missing_pictures_are_findings(server):
    files = transforms()
    del files["images/002.png"]
    row = server.put("/v1/recordings/holes", tar_bytes(files)).json()
    assert row["frames"] == 7 and row["frames_missing"] == 1 and row["findings"]


def test_in_use(server, balls):
    job = submit(server, "in-use", config={"steps": 200000}).json()["id"]
    for answer in (server.request("DELETE", "/v1/recordings/balls"),
                   server.put("/v1/recordings/balls", tar_bytes(transforms(4)), If_Match="*")):
        assert answer.problem() == "recording-in-use" and answer.json()["users"] == [job]
    server.post(f"/v1/reconstructions/{job}/cancel")
    wait_state(server, job, ["cancelled"])


def test_import(tmp_path):
    for name, body in transforms().items():
        path = tmp_path / "root" / "balls" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    (tmp_path / "outside").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "outside")
    running = Server("--data-root", str(tmp_path / "root"))
    try:
        made = running.post("/v1/recordings", {"id": "here", "path": "balls"})
        assert made.status == 201 and made.json()["imported"] and made.json()["frames"] == 8
        again = running.post("/v1/recordings", {"id": "here", "path": "balls"})
        assert again.problem() == "recording-exists"
        keyed = running.post("/v1/recordings", {"id": "here", "path": "balls"},
                             Idempotency_Key="import-1")
        assert keyed.status == 201 and keyed.json() == made.json()
        for path in ("../outside", "link", str(tmp_path / "outside"), "nix"):
            bad = running.post("/v1/recordings", {"id": "bad", "path": path})
            assert bad.problem() == "invalid-request", path
            assert bad.json()["errors"][0]["pointer"] == "/path"
            assert str(tmp_path) not in bad.body.decode()
        assert running.request("DELETE", "/v1/recordings/here").status == 204
        assert (tmp_path / "root" / "balls" / "transforms.json").exists()
    finally:
        assert running.stop() == 0


def test_import_needs_a_root(server):
    bad = server.post("/v1/recordings", {"id": "x", "path": "y"})
    assert bad.problem() == "invalid-request" and "--data-root" in bad.json()["detail"]


def test_recordings_survive_a_restart(tmp_path):
    first = Server(data=str(tmp_path / "data"))
    assert first.put("/v1/recordings/kept", tar_bytes(transforms())).status == 201
    row = first.get("/v1/recordings/kept").json()
    assert first.stop() == 0
    (tmp_path / "data" / "recordings" / ".incoming-1-1").mkdir()  # as a killed upload leaves it
    second = Server(data=str(tmp_path / "data"))
    try:
        assert second.get("/v1/recordings/kept").json() == row
        assert os.listdir(tmp_path / "data" / "recordings") == ["kept"]
    finally:
        assert second.stop() == 0
