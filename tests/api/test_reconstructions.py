"""Reconstructions over HTTP: from submission to scene, controls, events, restarts."""

import http.client
import json
import threading
import time

import pytest
from conftest import Server, raw_rgb
from recordings import (QUICK, submit, tar_bytes, transforms, wait_state, wait_step, wait_training)

JOBS = "/v1/reconstructions"
ENDED = ["succeeded", "failed", "cancelled"]
LONG = {"steps": 200000, "refine_until": 0.001}


@pytest.fixture(scope="module")
def balls(server):
    assert server.put("/v1/recordings/balls", tar_bytes(transforms())).status == 201
    return "balls"


@pytest.fixture(scope="module")
def finished(server, balls):
    answer = submit(server, "finished", labels={"team": "a"})
    assert answer.status == 202, answer.body
    assert answer.headers["Location"] == f"{JOBS}/{answer.json()['id']}"
    return wait_state(server, answer.json()["id"], ["succeeded"])


@pytest.fixture
def running(server, balls):
    """A job that trains until it is told otherwise."""
    job = submit(server, "running", replace=True, config=LONG).json()["id"]
    wait_step(server, job, 1)
    yield job
    if server.get(f"{JOBS}/{job}").json()["state"] not in ENDED:
        server.post(f"{JOBS}/{job}/cancel")
        wait_state(server, job, ENDED)


class Events:
    """Reads server-sent events of a job until the stream is closed."""

    def __init__(self, server, job, last_id=None, timeout_s=60):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout_s)
        headers = {} if last_id is None else {"Last-Event-ID": str(last_id)}
        self.connection.request("GET", f"{JOBS}/{job}/events", headers=headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        assert self.answer.headers["Content-Type"].startswith("text/event-stream")

    def __iter__(self):
        event = {}
        for line in self.answer:
            line = line.decode().rstrip("\n")
            if line == "" and event:
                yield int(event["id"]), event["event"], json.loads(event["data"])
                event = {}
            elif line and not line.startswith(":"):
                name, value = line.split(": ", 1)
                event[name] = value

    def close(self):
        self.connection.close()


# -- schema and dry run ---------------------------------------------------------------------------

def test_schema(server):
    schema = server.get(f"{JOBS}/schema").json()
    names = {row["name"] for row in schema["parameters"]}
    assert {"steps", "splats_max", "seed"} <= names
    assert set(schema["presets"]) == {"preview", "balanced", "quality"}


def test_dry_run(server, balls):
    answer = server.post(f"{JOBS}/check", {"recording": "balls", "config": {"steps": 7}})
    body = answer.json()
    assert answer.status == 200 and body["ok"] and body["preset"] == "preview"
    assert body["config"]["steps"] == 7 and body["scene"] == "balls"
    assert set(body["estimate"]) == {"splats_max", "device_bytes", "disk_bytes", "seconds"}
    assert server.get(f"{JOBS}?recording=balls&state=queued").json()["items"] == []


@pytest.mark.parametrize("change,pointer,words", [
    ({"config": {"stepz": 3}}, "/config/stepz", "steps"),
    ({"config": {"steps": 0}}, "/config/steps", ""),
    ({"config": {"steps": 1.0}}, "/config/steps", "integer"),
    ({"config": 3}, "/config", "object"),
    ({"presett": "preview"}, "/presett", "preset"),
    ({"preset": "best"}, "/preset", "balanced"),
    ({"scene": "a.b"}, "/scene", "identifier"),
    ({"recording": None}, "/recording", "required"),
    ({"priority": "urgent"}, "/priority", "normal"),
    ({"replace": "yes"}, "/replace", "true"),
    ({"labels": {"a": 1}}, "/labels/a", "string"),
])
def test_faults_have_pointers(server, balls, change, pointer, words):
    for path in (JOBS, f"{JOBS}/check"):
        answer = server.post(path, {"recording": "balls", **change})
        assert answer.problem() == "invalid-request", answer.body
        errors = {e["pointer"]: e["message"] for e in answer.json()["errors"]}
        assert words in errors[pointer]


def test_every_fault_is_reported(server, balls):
    answer = server.post(JOBS, {"recording": "balls", "preset": "preview", "nix": 1,
                                "config": {"steps": -1, "growt": 1}})
    assert {e["pointer"] for e in answer.json()["errors"]} >= {"/nix", "/config/steps",
                                                               "/config/growt"}


def test_what_this_version_lacks(server, balls):
    for member in ({"sensors": ["camera"]}, {"t_begin_us": 0}, {"device": "cuda:0"},
                   {"warm_start": {"scene": "x"}}):
        answer = server.post(JOBS, {"recording": "balls", **member})
        assert answer.problem() == "unsupported-feature", member
        assert answer.json()["capability"]


def test_refused_submissions(server, balls, finished):
    unknown = server.post(JOBS, {"recording": "nix"})
    assert unknown.problem() == "not-found" and unknown.json()["resource"] == "recording"
    taken = submit(server, "finished")
    assert taken.problem() == "scene-exists" and taken.json()["digest"].startswith("sha256:")
    check = server.post(f"{JOBS}/check", {"recording": "balls", "scene": "finished"}).json()
    assert not check["ok"] and check["findings"][0]["code"] == "scene-exists"
    huge = submit(server, "huge", config={"splats_max": 100000000, "sh_degree": 3})
    assert huge.problem() == "scene-too-large"
    assert huge.json()["needed_bytes"] > huge.json()["budget_bytes"]


# -- a whole reconstruction -----------------------------------------------------------------------

def test_row_of_a_finished_job(server, finished):
    assert finished["result"]["splats"] > 0 and finished["result"]["psnr_db"] > 15
    assert finished["result"]["file_bytes"] > 1000 and finished["progress"]["step"] == 60
    assert finished["progress"]["fraction"] == 1 and finished["labels"] == {"team": "a"}
    assert finished["config"]["steps"] == 60 and finished["reason"] is None
    assert finished["started_at"] <= finished["finished_at"]


def test_the_scene_is_an_ordinary_scene(server, finished):
    scene = server.get("/v1/scenes/finished").json()
    assert scene["origin"] == {"type": "reconstruction", "id": finished["id"]}
    assert scene["splats"] == finished["result"]["splats"] and not scene["live"]
    picture = server.get("/v1/scenes/finished/frames/camera/f0.png")
    assert picture.status == 200
    diff = server.get("/v1/scenes/finished/frames/camera/f0.png?view=recorded")
    assert diff.status == 200 and diff.headers["X-Frame-Index"] == "0"


def test_lists_and_filters(server, finished):
    rows = server.get(f"{JOBS}?state=succeeded&scene=finished&recording=balls").json()["items"]
    assert [row["id"] for row in rows] == [finished["id"]]
    assert server.get(f"{JOBS}?scene=nix").json() == {"items": [], "next": None}
    assert server.get(f"{JOBS}?state=done").problem() == "invalid-request"
    first = server.get(f"{JOBS}?limit=1").json()
    assert len(first["items"]) == 1
    unchanged = server.get(f"{JOBS}/{finished['id']}")
    again = server.get(f"{JOBS}/{finished['id']}", If_None_Match=unchanged.headers["ETag"])
    assert again.status == 304


def test_log(server, finished):
    path = f"{JOBS}/{finished['id']}/log"
    whole = server.get(path)
    assert whole.status == 200 and b"training" in whole.body
    assert server.get(path + "?tail=2").body == b"".join(whole.body.splitlines(True)[-2:])
    part = server.get(path, Range="bytes=0-9")
    assert part.status == 206 and part.body == whole.body[:10]
    assert server.get(path + "?tail=0").problem() == "invalid-request"


def test_metrics(server, finished):
    path = f"{JOBS}/{finished['id']}/metrics"
    history = server.get(path).json()
    assert history["step"][-1] == 60 and history["psnr_db"][-1] is not None
    assert len({len(column) for column in history.values()}) == 1
    few = server.get(path + "?max_points=5&since_step=20").json()
    assert len(few["step"]) <= 5 and few["step"][0] >= 20 and few["step"][-1] == 60


def test_artifacts(server, finished):
    path = f"{JOBS}/{finished['id']}/artifacts"
    names = {item["name"]: item["bytes"] for item in server.get(path).json()["items"]}
    assert {"scene.retake", "config.json", "eval.json", "metrics.csv"} <= set(names)
    scene = server.get(f"{path}/scene.retake")
    assert len(scene.body) == names["scene.retake"] and scene.body[:2] == b"PK"
    part = server.get(f"{path}/scene.retake", Range="bytes=2-5")
    assert part.status == 206 and part.body == scene.body[2:6]
    same = server.get(f"{path}/scene.retake", If_None_Match=scene.headers["ETag"])
    assert same.status == 304
    assert json.loads(server.get(f"{path}/config.json").body)["steps"] == 60
    unknown = server.get(f"{path}/status.json")
    assert unknown.problem() == "not-found" and "scene.retake" in unknown.json()["known"]


def test_unknown_job(server):
    for path in ("", "/events", "/metrics", "/log", "/preview.jpg", "/artifacts"):
        assert server.get(f"{JOBS}/r_aaaaaaaa{path}").problem() == "not-found", path
    assert server.post(f"{JOBS}/r_aaaaaaaa/cancel").problem() == "not-found"
    assert server.request("DELETE", f"{JOBS}/r_aaaaaaaa").problem() == "not-found"


# -- while it runs --------------------------------------------------------------------------------

def test_live_scene_and_preview(server, running):
    row = server.get(f"{JOBS}/{running}").json()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        preview = server.get(f"{JOBS}/{running}/preview.jpg")
        if preview.status == 200:
            break
        assert preview.problem() == "not-found"
        time.sleep(0.05)
    assert preview.body[:2] == b"\xff\xd8"
    small = server.get(f"{JOBS}/{running}/preview.jpg?w=24&step=3")
    assert small.status == 200 and len(small.body) < len(preview.body)
    live = server.get(f"/v1/scenes/{row['live_scene']}").json()
    assert live["live"] and live["origin"]["id"] == running
    for _ in range(10):  # rendering goes on while it trains
        answer = server.post(f"/v1/scenes/{row['live_scene']}/render/camera",
                             {"sensor": "camera", "format": "raw"})
        assert raw_rgb(answer).shape == (32, 48, 3)
    assert server.get(f"{JOBS}/{running}/metrics").json()["step"]
    later = wait_step(server, running, row["progress"]["step"] + 20)
    assert later["state"] == "running"
    assert server.request("DELETE", f"{JOBS}/{running}").problem() == "job-running"
    busy = server.request("DELETE", f"/v1/scenes/{row['live_scene']}")
    assert busy.problem() == "scene-busy"


def test_events_from_start_to_end(server, balls):
    job = submit(server, "events", config={"steps": 3000, "eval_every": 1500}).json()["id"]
    events = list(Events(server, job))
    numbers = [number for number, _, _ in events]
    names = [name for _, name, _ in events]
    assert numbers == sorted(numbers)
    assert names[0] == "state" and names[-1] == "done"
    assert {"state", "progress", "eval", "preview", "log", "done"} <= set(names)
    assert events[-1][2]["state"] == "succeeded" and events[-1][2]["result"]["splats"] > 0
    fractions = [body["fraction"] for _, name, body in events if name == "progress"]
    assert fractions == sorted(fractions)
    preview = next(body for _, name, body in events if name == "preview")
    assert server.get(preview["url"]).status == 200
    # Resumed at any number, the rest comes again, without a gap.
    middle = numbers[len(numbers) // 2]
    rest = list(Events(server, job, middle))
    assert [n for n, _, _ in rest] == list(range(middle + 1, numbers[-1] + 1))
    assert rest[-1][1] == "done"


def test_event_rate(server, running):
    began, n_progress = time.monotonic(), 0
    stream = Events(server, running)
    for _, name, _ in stream:
        n_progress += name == "progress"
        if time.monotonic() - began > 2:
            break
    stream.close()
    assert 1 <= n_progress <= 4 * (time.monotonic() - began) + 2


def test_events_after_a_lost_past(server, finished):
    events = list(Events(server, finished["id"], 10 ** 6))
    assert events[0][1] == "gap" and events[0][2]["id"] == finished["id"]


# -- controls -------------------------------------------------------------------------------------

def test_pause_and_resume(server, running):
    paused = server.post(f"{JOBS}/{running}/pause")
    assert paused.status == 200
    row = wait_state(server, running, ["paused"], timeout_s=5)
    step = row["progress"]["step"]
    assert row["checkpoint"]["step"] == step and row["requested"] is None
    assert server.post(f"{JOBS}/{running}/pause").json()["state"] == "paused"
    time.sleep(0.3)
    assert server.get(f"{JOBS}/{running}").json()["progress"]["step"] == step
    assert server.post(f"{JOBS}/{running}/resume").json()["state"] in ("queued", "running")
    row = wait_step(server, running, step + 1)
    assert row["attempt"] == 1
    assert server.post(f"{JOBS}/{running}/resume").status == 200


def test_cancel_is_idempotent(server, running):
    assert server.post(f"{JOBS}/{running}/cancel").status == 200
    wait_state(server, running, ["cancelled"], timeout_s=5)
    assert server.post(f"{JOBS}/{running}/cancel").json()["state"] == "cancelled"
    live = server.get(f"/v1/scenes/{running}")
    assert live.status == 404 or not live.json()["live"]


def test_publish_early(server, balls):
    job = submit(server, "early", config=LONG).json()["id"]
    wait_step(server, job, 30)
    assert server.post(f"{JOBS}/{job}/cancel", {"publish": True}).status == 200
    row = wait_state(server, job, ["succeeded"])
    assert row["reason"] == "stopped-early" and row["progress"]["step"] < 200000
    assert server.get("/v1/scenes/early").json()["splats"] == row["result"]["splats"]
    assert server.post(f"{JOBS}/{job}/cancel", {"publish": True}).status == 200


def test_publish_what_a_paused_job_has(server, balls):
    job = submit(server, "early2", config=LONG).json()["id"]
    wait_step(server, job, 30)
    server.post(f"{JOBS}/{job}/pause")
    step = wait_state(server, job, ["paused"])["progress"]["step"]
    assert server.post(f"{JOBS}/{job}/cancel", {"publish": True}).status == 200
    row = wait_state(server, job, ["succeeded"])
    assert row["reason"] == "stopped-early" and row["progress"]["step"] <= step + 2


def test_impossible_controls(server, finished):
    path = f"{JOBS}/{finished['id']}"
    for control in ("cancel", "pause", "resume"):
        answer = server.post(f"{path}/{control}")
        assert answer.problem() == "invalid-transition"
        assert answer.json()["state"] == "succeeded" and answer.json()["allowed"] == []
    assert server.post(f"{path}/cancel", {"publsh": True}).problem() == "invalid-request"
    assert server.request("POST", f"{path}/pause").problem() == "invalid-transition"  # no body


def test_cancelled_jobs_resume_from_a_checkpoint(server, balls):
    job = submit(server, "again", config=LONG).json()["id"]
    wait_step(server, job, 10)
    server.post(f"{JOBS}/{job}/pause")
    step = wait_state(server, job, ["paused"])["checkpoint"]["step"]
    assert server.post(f"{JOBS}/{job}/cancel").json()["state"] == "cancelled"
    assert server.post(f"{JOBS}/{job}/resume").status == 200
    end = time.monotonic() + 30
    while server.get(f"{JOBS}/{job}").json()["progress"]["step"] <= step:
        assert time.monotonic() < end
    server.post(f"{JOBS}/{job}/cancel")
    wait_state(server, job, ["cancelled"])


def test_queue(server, running):
    waiting = submit(server, "waiting").json()
    assert waiting["state"] == "queued" and waiting["queue_position"] == 0
    first = submit(server, "first", priority="high").json()
    assert first["queue_position"] == 0
    row = server.get(f"{JOBS}/{waiting['id']}").json()
    assert row["queue_position"] == 1 and row["progress"]["steps"] == 60
    assert submit(server, "waiting").problem() == "scene-exists"  # a job makes it already
    assert server.post(f"{JOBS}/{waiting['id']}/pause").json()["state"] == "paused"
    assert server.post(f"{JOBS}/{first['id']}/cancel").json()["state"] == "cancelled"
    refused = server.post(f"{JOBS}/{first['id']}/resume")
    assert refused.problem() == "invalid-transition"  # nothing to go on from
    assert server.request("DELETE", f"{JOBS}/{waiting['id']}").status == 204
    assert server.get(f"{JOBS}/{waiting['id']}").status == 404


def test_replace_keeps_the_old_scene_until_done(server, finished):
    version = server.get("/v1/scenes/finished").json()["version"]
    job = submit(server, "finished", replace=True, config={**LONG, "seed": 7}).json()
    assert job["live_scene"] == job["id"]
    wait_step(server, job["id"], 20)
    assert server.get("/v1/scenes/finished").json()["version"] == version
    server.post(f"{JOBS}/{job['id']}/cancel", {"publish": True})
    wait_state(server, job["id"], ["succeeded"])
    after = server.get("/v1/scenes/finished").json()
    assert after["version"] != version and after["origin"]["id"] == job["id"]


# -- idempotency, restarts ------------------------------------------------------------------------

def test_idempotency(server, balls):
    key = {"headers": {"Idempotency_Key": "once-1"}}
    first = submit(server, "once", **key)
    assert first.status == 202
    ids = {submit(server, "once", **key).json()["id"] for _ in range(3)}
    assert ids == {first.json()["id"]}
    wait_state(server, first.json()["id"], ["succeeded"])
    assert submit(server, "once", **key).json()["state"] == "succeeded"
    other = submit(server, "once", config={"steps": 61}, **key)
    assert other.problem() == "idempotency-mismatch"
    long_key = submit(server, "x", headers={"Idempotency_Key": "k" * 65})
    assert long_key.problem() == "invalid-request"


def test_same_key_at_once_makes_one_job(server, balls):
    answers = []

    def work():
        answers.append(submit(server, "race", headers={"Idempotency_Key": "race-1"}))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {a.status for a in answers} == {202}
    assert len({a.json()["id"] for a in answers}) == 1
    wait_state(server, answers[0].json()["id"], ["succeeded"])


def test_queue_is_bounded(server, running):
    ids = []
    for i in range(300):
        answer = submit(server, f"many{i}")
        if answer.status != 202:
            break
        ids.append(answer.json()["id"])
    assert answer.problem() == "queue-full" and int(answer.headers["Retry-After"]) >= 1
    assert len(ids) == 256
    page = server.get(f"{JOBS}?state=queued&limit=100").json()
    rest = server.get(f"{JOBS}?state=queued&limit=200&cursor={page['next']}").json()
    assert len(page["items"]) == 100 and len(rest["items"]) == 156 and rest["next"] is None
    for job in ids:
        server.post(f"{JOBS}/{job}/cancel")


def test_too_many_event_readers(server, running):
    readers = []
    try:
        for _ in range(256):
            readers.append(Events(server, running))
        answer = server.get(f"{JOBS}/{running}/events")
        assert answer.problem() == "too-many-streams"
    finally:
        for reader in readers:
            reader.close()


def test_broken_recording_fails_with_its_reason(server):
    files = transforms()
    files["images/000.png"] = files["images/000.png"][:70]
    assert server.put("/v1/recordings/broken", tar_bytes(files)).status == 201
    job = submit(server, "broken", recording="broken").json()["id"]
    end = time.monotonic() + 20
    while (row := server.get(f"{JOBS}/{job}").json())["state"] not in ENDED:
        assert time.monotonic() < end
    assert row["state"] == "failed" and row["reason"] == "invalid-recording"
    assert "000.png" in row["detail"] and server.data not in row["detail"]
    assert server.get("/v1/version").status == 200


def test_jobs_survive_a_restart(tmp_path):
    data = str(tmp_path / "data")
    first = Server(data=data)
    first.put("/v1/recordings/balls", tar_bytes(transforms()))
    done = submit(first, "done").json()["id"]
    wait_state(first, done, ["succeeded"])
    before = first.get(f"{JOBS}/{done}").json()
    job = submit(first, "goes-on", config={"steps": 20000, "refine_until": 0.01}).json()["id"]
    events = Events(first, job)
    step = wait_step(first, job, 50)["progress"]["step"]
    assert first.stop() == 0  # SIGTERM with a job running and a reader of its events
    events.close()
    second = Server(data=data)
    try:
        assert second.get(f"{JOBS}/{done}").json() == before
        row = wait_training(second, job)
        assert row["attempt"] == 2 and row["checkpoint"]["step"] >= step
        assert list(Events(second, done))[-1][1] == "done"
        second.post(f"{JOBS}/{job}/cancel", {"publish": True})
        assert wait_state(second, job, ["succeeded"])["result"]["splats"] > 0
    finally:
        assert second.stop() == 0


def test_default_preset_without_gpu(server, balls):
    body = server.post(f"{JOBS}/check", {"recording": "balls"}).json()
    assert body["preset"] == "preview" and QUICK["steps"] != body["config"]["steps"]
