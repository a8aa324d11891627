"""The service is killed, stopped, or runs out of disk while a reconstruction trains: accepted jobs
are neither lost nor doubled, and go on from their checkpoint (promises P1, P2, P11, P30)."""

import contextlib
import glob
import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "api"))
import conftest as api  # noqa: E402
from recordings import (  # noqa: E402
    submit, tar_bytes, transforms, wait_state, wait_step, wait_training)

JOBS = "/v1/reconstructions"
# About 10 s of training on two cores, a checkpoint every second.
TRAINING = {"steps": 9000, "splats_max": 1000, "refine_until": 0.05, "checkpoint_every_s": 1}


class Server(api.Server):
    started = []  # of the test that runs

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.started.append(self)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(autouse=True)
def no_server_is_left():
    yield
    for server in Server.started:
        if server.process.poll() is None:  # a test that failed
            server.kill()
    Server.started.clear()


@pytest.fixture
def data(tmp_path):
    return str(tmp_path / "data")


def start(data):
    server = Server(data=data)
    assert server.put("/v1/recordings/balls", tar_bytes(transforms())).status in (200, 201)
    return server


def step_of(row):
    return row["progress"]["step"]


def wait_end(server, job):
    end = time.monotonic() + 60
    while (row := server.get(f"{JOBS}/{job}").json())["state"] in ("queued", "running"):
        assert time.monotonic() < end, row
        time.sleep(0.1)
    return row


def wait_checkpoint(server, job, after_step):
    while True:
        row = server.get(f"{JOBS}/{job}").json()
        assert row["state"] == "running", row
        if (row["checkpoint"] or {}).get("step", 0) > after_step:
            return row
        time.sleep(0.02)


def test_killed_at_random_moments(data):
    rng = np.random.default_rng(11)
    server = start(data)
    job = submit(server, "kept", config=TRAINING).json()["id"]
    resumed_at = 0
    for attempt in range(1, 6):
        # The journal counts losses without a checkpoint in between; the third is the end.
        wait_training(server, job)
        began, first = time.monotonic(), wait_checkpoint(server, job, resumed_at)
        time.sleep(rng.random() * 0.9)
        row = server.get(f"{JOBS}/{job}").json()
        assert row["phase"] == "training", "it ended before the kill: more steps are needed"
        rate = max(step_of(row) - step_of(first), 1) / (time.monotonic() - began)
        server.kill()
        server = Server(data=data)
        again = wait_training(server, job)
        assert again["attempt"] == attempt + 1
        resumed_at = again["checkpoint"]["step"]
        # Not more than what came since the newest checkpoint that was seen, one interval of 1 s.
        assert resumed_at >= row["checkpoint"]["step"], (resumed_at, row, rate)
    done = wait_state(server, job, ["succeeded"], timeout_s=120)
    assert done["progress"]["step"] == TRAINING["steps"]
    rows = server.get(f"{JOBS}?scene=kept").json()["items"]
    assert [r["id"] for r in rows] == [job]
    assert server.get("/v1/scenes/kept/frames/camera/f0.png").status == 200
    assert len(glob.glob(f"{data}/scenes/kept.*.retake")) == 1
    assert not glob.glob(f"{data}/**/*.part", recursive=True)
    whole = submit(server, "whole", config=TRAINING).json()["id"]
    whole = wait_state(server, whole, ["succeeded"], timeout_s=120)
    # A resumed training repeats the uninterrupted one.
    assert abs(whole["result"]["psnr_db"] - done["result"]["psnr_db"]) < 0.2
    assert server.stop() == 0


def test_killed_right_after_acceptance(data):
    server = start(data)
    jobs = []
    for i in range(4):
        jobs.append(submit(server, f"s{i}").json()["id"])
        server.kill()
        server = Server(data=data)
        wait_state(server, jobs[-1], ["succeeded"])
    assert sorted(row["id"] for row in server.get(JOBS).json()["items"]) == sorted(jobs)
    assert server.stop() == 0


def test_drained_with_a_job_and_renders(data):
    server = start(data)
    job = submit(server, "kept", config=TRAINING).json()["id"]
    row = wait_step(server, job, 200)
    while server.get("/v1/scenes/kept").status != 200:
        time.sleep(0.05)
    picture = server.get("/v1/scenes/kept/frames/camera/f0.png")
    assert picture.status == 200
    began = time.monotonic()
    assert server.stop() == 0 and time.monotonic() - began < 10
    server = Server(data=data)
    again = wait_training(server, job)
    assert again["attempt"] == 2 and again["checkpoint"]["step"] >= step_of(row)
    server.post(f"{JOBS}/{job}/cancel")
    assert server.stop() == 0


def test_a_job_without_progress_is_not_tried_for_ever(data):
    server = start(data)
    job = submit(server, "poison",
                 config={**TRAINING, "steps": 200000, "checkpoint_every_s": 600}).json()["id"]
    for _ in range(3):
        wait_step(server, job, 1)
        server.kill()
        server = Server(data=data)
    row = server.get(f"{JOBS}/{job}").json()
    assert (row["state"], row["reason"]) == ("failed", "device-lost")
    assert server.stop() == 0


def test_damaged_checkpoint_falls_back(data):
    server = start(data)
    job = submit(server, "kept", config=TRAINING).json()["id"]
    folder = f"{data}/reconstructions/{job}"
    while len(glob.glob(f"{folder}/*.rtck")) < 2:
        assert server.get(f"{JOBS}/{job}").json()["state"] in ("queued", "running")
        time.sleep(0.05)
    server.kill()
    older, newest = sorted(glob.glob(f"{folder}/*.rtck"))[-2:]
    with open(newest, "r+b") as file:
        file.truncate(os.path.getsize(newest) // 2)
    server = Server(data=data)
    row = wait_training(server, job)
    assert row["checkpoint"]["step"] < int(newest[-14:-5])
    assert row["checkpoint"]["step"] >= int(older[-14:-5])
    server.post(f"{JOBS}/{job}/cancel", {"publish": True})
    wait_state(server, job, ["succeeded"])
    assert server.stop() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a small file system of its own")
def test_full_disk_fails_the_job_and_it_resumes(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700m", "tmpfs", str(disk)]).returncode:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        server = start(str(disk / "data"))
        job = submit(server, "kept", config=TRAINING).json()["id"]
        wait_step(server, job, 50)
        while not server.get(f"{JOBS}/{job}").json()["checkpoint"]:
            time.sleep(0.05)
        fd = os.open(disk / "ballast", os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):  # to the last byte
            while True:
                os.write(fd, b"\0" * 65536)
        os.close(fd)
        while True:  # until the next checkpoint meets the full disk
            step = step_of(server.get(f"{JOBS}/{job}").json())
            time.sleep(0.5)
            if step == step_of(server.get(f"{JOBS}/{job}").json()):
                break
        refused = submit(server, "more")
        upload = server.put("/v1/recordings/more", tar_bytes(transforms(3)))
        assert refused.problem() == "storage-full" and upload.problem() == "storage-full"
        assert server.get("/v1/health/ready").problem() == "not-ready"
        os.remove(disk / "ballast")
        # The journal could not be written either; now it can.
        row = wait_end(server, job)
        assert (row["state"], row["reason"]) == ("failed", "storage-full"), row
        assert server.post(f"{JOBS}/{job}/resume").status == 200
        done = wait_state(server, job, ["succeeded"])
        assert done["progress"]["step"] == TRAINING["steps"]
        assert server.stop() == 0
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_file_size_limit_is_a_full_disk(data):
    """Without root: no file may grow beyond 200 kB, so neither may a checkpoint."""
    server = start(data)
    job = submit(server, "kept", config={**TRAINING, "splats_max": 20000, "init_splats": 6000,
                                         "resolution": 0.5}).json()["id"]
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (200_000, 200_000))
    row = wait_end(server, job)
    assert (row["state"], row["reason"]) == ("failed", "storage-full"), row
    assert server.get("/v1/version").status == 200
    assert server.stop() == 0


def test_sigterm_while_paused(data):
    server = start(data)
    job = submit(server, "kept", config=TRAINING).json()["id"]
    wait_step(server, job, 50)
    server.post(f"{JOBS}/{job}/pause")
    step = step_of(wait_state(server, job, ["paused"]))
    server.process.send_signal(signal.SIGTERM)
    assert server.stop() == 0
    server = Server(data=data)
    row = server.get(f"{JOBS}/{job}").json()
    assert row["state"] == "paused" and row["checkpoint"]["step"] == step == step_of(row)
    server.post(f"{JOBS}/{job}/resume")
    assert step_of(wait_step(server, job, step + 1)) > step
    server.post(f"{JOBS}/{job}/cancel")
    assert server.stop() == 0
