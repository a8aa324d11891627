import numpy as np


def test_every_scene_has_a_default_camera(server, ball):
    answer = server.get(ball + "/frames/default/0.jpg")
    assert answer.status == 200 and answer.headers["X-Shape"] == "540,960,3"
    small = server.get(ball + "/frames/default/f0.png?w=100")
    assert small.headers["X-Shape"] == "56,100,3", "w alone keeps the aspect"
    assert server.get(ball + "/frames/default/0.raw?h=54").headers["X-Shape"] == "54,96,3"


def frames_drawn(server):
    return server.get("/v1/devices").json()["items"][0]["renders"]["done"]


def test_etag_is_answered_without_drawing(server, ball):
    path = ball + "/frames/default/0.png?w=64"
    first = server.get(path)
    drawn = frames_drawn(server)
    again = server.get(path, If_None_Match=first.headers["ETag"])
    assert again.status == 304 and again.body == b""
    assert again.headers["ETag"] == first.headers["ETag"]
    head = server.request("HEAD", path)
    assert head.status == 200 and head.headers["ETag"] == first.headers["ETag"]
    assert head.headers["Content-Type"] == "image/png"
    assert frames_drawn(server) == drawn


def test_etag_follows_what_is_drawn(server, ball):
    base = ball + "/frames/default/0.png?w=64"
    tags = {server.request("HEAD", base + extra).headers["ETag"]
            for extra in ("", "&dx_m=1", "&dy_m=1", "&yaw_deg=3", "&output=alpha", "&h=50",
                          "&background=1,0,0", "&sh_degree=0")}
    assert len(tags) == 8
    assert server.request("HEAD", base + "&quality=50").headers["ETag"] in tags, "PNG has none"


def test_cache_control_by_version(server, ball):
    version = server.get(ball).json()["version"]
    path = ball + "/frames/default/0.png?w=64"
    assert server.get(path).headers["Cache-Control"] == "public, no-cache"
    assert "immutable" in server.get(f"{path}&v={version}").headers["Cache-Control"]
    assert "immutable" not in server.get(f"{path}&v=00000000").headers["Cache-Control"]


def test_offsets_move_the_rig(server, ball):
    def green(query):
        answer = server.get(ball + "/frames/default/0.raw?w=96" + query)
        picture = np.frombuffer(answer.body, np.uint8).reshape(54, 96, 3).astype(int)
        columns = np.nonzero((picture[..., 1] > picture[..., 0] + 50).any(axis=0))[0]
        return columns.mean()
    assert green("&dy_m=0.5") > green(""), "moving left moves the picture to the right"
    assert green("&yaw_deg=5") > green(""), "turning left too"
    assert green("&yaw_deg=0") == green("")


def test_scalar_outputs(server, ball):
    assert server.get(ball + "/frames/default/0.jpg?output=depth&max=10&w=64").status == 200
    depth = server.get(ball + "/frames/default/0.npy?output=depth&w=64")
    assert depth.headers["X-Dtype"] == "f32"


def test_refusals(server, ball):
    frames = ball + "/frames/"
    missing = server.get(frames + "nix/0.png")
    assert missing.problem() == "not-found" and missing.json()["known"] == ["default"]
    assert server.request("HEAD", frames + "nix/0.png").status == 404
    assert server.get(frames + "default/f1.png").problem() == "time-out-of-range"
    assert server.get(frames + "default/now.png").problem() == "invalid-request"
    assert server.get(frames + "default/0.gif").problem() == "not-found"
    assert server.get(frames + "default/0.png?width=3").problem() == "invalid-request"
    assert server.get(frames + "default/0.png?w=1e3").problem() == "invalid-request"
    assert server.get(frames + "default/0.png?w=64&w=65").problem() == "invalid-request"
    assert server.get(frames + "default/0.png?view=diff").problem() == "unsupported-feature"
    assert server.get(frames + "default/0.png?view=recorded").problem() == "no-recording"
    assert server.get("/v1/scenes/nix/frames/default/0.png").problem() == "not-found"
