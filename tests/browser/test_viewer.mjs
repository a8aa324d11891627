// The viewer in headless Chromium against the real server.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { runRetake, runSuite, threeBalls } from "./server.mjs";

async function putScene(address, id) {
    const answer = await fetch(`${address}/v1/scenes/${id}`, { method: "PUT", body: threeBalls() });
    assert.ok(answer.ok, await answer.text());
}

// Mean colour of a part of the picture canvas, in fractions of its size.
function colourAt(page, x, y) {
    return page.evaluate(
        ([fx, fy]) => {
            const canvas = document.getElementById("picture");
            const pixels = canvas
                .getContext("2d")
                .getImageData(
                    Math.floor(fx * canvas.width) - 2,
                    Math.floor(fy * canvas.height) - 2,
                    5,
                    5,
                ).data;
            const sum = [0, 0, 0];
            for (let i = 0; i < pixels.length; i += 4)
                for (let k = 0; k < 3; k++) sum[k] += pixels[i + k] / 25;
            return sum;
        },
        [x, y],
    );
}

const pictures = (page) =>
    page.evaluate(() => Number(document.getElementById("picture").dataset.pictures || 0));

const full = (page, more = 0) =>
    page.waitForFunction(
        (least) => {
            const canvas = document.getElementById("picture");
            return canvas.dataset.kind === "full" && Number(canvas.dataset.pictures) > least;
        },
        more,
        { timeout: 20000 },
    );

async function strongest(page, x, y) {
    const colour = await colourAt(page, x, y);
    return colour.indexOf(Math.max(...colour));
}

async function axe(page) {
    const { default: AxeBuilder } = await import("@axe-core/playwright");
    const found = await new AxeBuilder({ page }).analyze();
    const serious = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
    assert.deepEqual(
        serious.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`),
        [],
    );
}

async function listShowsScene(page, address) {
    await putScene(address, "balls");
    await page.goto(address);
    const card = page.locator('[data-scene="balls"]');
    await card.waitFor();
    await page.waitForFunction(() => document.querySelector(".card img")?.naturalWidth > 0);
    assert.match(await card.innerText(), /81 splats/);
    await axe(page);
}

async function pictureIsUpright(page, address) {
    // From 5 m behind, looking forward: red (left) appears left, green right, blue above.
    const pose = "pose=-5,0,0.2,0.5,-0.5,0.5,-0.5";
    await page.goto(`${address}/scene.html?scene=balls&fov=50&${pose}`);
    await full(page);
    const aspect = await page.evaluate(() => {
        const canvas = document.getElementById("picture");
        return canvas.height / canvas.width;
    });
    const f = 0.5 / Math.tan((25 * Math.PI) / 180);
    const x = (metresRight) => 0.5 + (metresRight / 5) * f * aspect;
    const y = (metresUp) => 0.5 - ((metresUp - 0.2) / 5) * f;
    assert.equal(await strongest(page, x(-1), y(0)), 0, "red ball on the left");
    assert.equal(await strongest(page, x(1), y(0)), 1, "green ball on the right");
    assert.equal(await strongest(page, x(0), y(1)), 2, "blue ball above");
    const corner = await colourAt(page, 0.05, 0.95);
    assert.ok(Math.max(...corner) < 10, `background is black, not ${corner}`);
    await axe(page);
}

async function dragOrbits(page, address) {
    await page.goto(`${address}/scene.html?scene=balls`);
    await full(page);
    const before = await pictures(page);
    const link = page.url();
    await page.mouse.move(500, 300);
    await page.mouse.down();
    await page.mouse.move(640, 320, { steps: 6 });
    await page.mouse.up();
    await full(page, before + 1);
    await page.waitForFunction((old) => location.href !== old, link);
    assert.match(page.url(), /pose=/);
    // The link gives the same view again.
    const shared = page.url();
    const here = await colourAt(page, 0.5, 0.5);
    await page.goto(shared);
    await full(page);
    const there = await colourAt(page, 0.5, 0.5);
    here.forEach((value, k) => assert.ok(Math.abs(value - there[k]) < 12, `${here} is ${there}`));
}

async function keysFly(page, address) {
    await page.goto(`${address}/scene.html?scene=balls`);
    await full(page);
    const before = await pictures(page);
    await page.keyboard.press("KeyV");
    assert.equal(await page.locator("#mode").innerText(), "fly");
    await page.keyboard.down("KeyW");
    await page.waitForTimeout(250);
    await page.keyboard.up("KeyW");
    await full(page, before);
    await page.keyboard.press("Shift+Slash");
    assert.ok(await page.locator("#help-dialog").isVisible());
    assert.match(await page.locator("#help-table").innerText(), /orbit or fly/);
    await page.keyboard.press("Escape");
    const drawn = await pictures(page);
    await page.selectOption("#output", "depth");
    await full(page, drawn);
    assert.equal(await page.locator("#problem").innerText(), "");
}

async function problemsAreShown(page, address) {
    await page.goto(`${address}/scene.html?scene=nowhere`);
    const problem = page.locator("#problem");
    await problem.filter({ hasText: "nowhere" }).waitFor();
}

// A tiny recording: photos of the three balls taken by the program itself.
async function reconstructInBrowser(page, address, folder) {
    const street = path.join(folder, "street");
    runRetake(["synth", street, "--static", "--frames", "12", "--size", "96x64"]);
    const archive = path.join(folder, "street.tar");
    const { spawnSync } = await import("node:child_process");
    assert.equal(spawnSync("tar", ["-cf", archive, "-C", street, "."]).status, 0);
    assert.ok(fs.statSync(archive).size > 0);
    await page.goto(address);
    await page.setInputFiles("#file", archive);
    await page.click("#upload");
    await page.locator("#start-dialog").waitFor({ state: "visible", timeout: 30000 });
    await page.fill("#start-steps", "60");
    await page.locator("#start-steps").blur();
    await page.waitForFunction(() =>
        /up to/.test(document.getElementById("start-check").textContent),
    );
    await page.click("#start-go");
    await page.waitForURL(/reconstruction\.html/);
    await page.waitForFunction(
        () => document.getElementById("state").textContent === "succeeded",
        null,
        { timeout: 90000 },
    );
    assert.match(await page.locator("#numbers").innerText(), /result [\d.]+ dB/);
    await page.waitForFunction(() => document.getElementById("preview").naturalWidth > 0);
    await page.locator(".chart canvas").first().waitFor();
    await page.locator("#artifacts a", { hasText: "scene.retake" }).waitFor();
    await axe(page);
    await page.click("#scene-link");
    await full(page);
    let before = await pictures(page);
    await page.keyboard.press("Digit1");
    await page.locator("#timeline").waitFor({ state: "visible" });
    await full(page, before);
    before = await pictures(page);
    await page.selectOption("#view", "recorded");
    await full(page, before);
    assert.equal(await page.locator("#problem").innerText(), "");
}

await runSuite([
    ["the list shows an uploaded scene with its picture", listShowsScene],
    ["the scene is the right way up and not mirrored", pictureIsUpright],
    ["a drag orbits and the link repeats the view", dragOrbits],
    ["keys fly, help and depth work", keysFly],
    ["a problem is shown in words", problemsAreShown],
    ["a recording is uploaded, reconstructed and looked at", reconstructInBrowser],
]);
