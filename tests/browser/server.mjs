// Starts the real server on a free port with a small scene, and Chromium on top of it.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const SKIP = 77;

export function skip(reason) {
    console.log(`skipped: ${reason}`);
    process.exit(SKIP);
}

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

async function playwright() {
    const executablePath = CHROMIUM.find((name) => fs.existsSync(name));
    if (!executablePath) skip("Chromium is not installed");
    try {
        const { chromium } = (await import("playwright-core")).default;
        return { chromium, executablePath };
    } catch {
        return skip("playwright-core is not installed (npm ci)");
    }
}

// A red, a green and a blue ball of 27 splats each, red left, green right, blue above, so that a
// picture tells left from right and up from down. Axes flu: x forward, y left, z up.
export function threeBalls() {
    const rows = [];
    const balls = [
        [
            [0, 1, 0],
            [1.7, -1.7, -1.7],
        ],
        [
            [0, -1, 0],
            [-1.7, 1.7, -1.7],
        ],
        [
            [0, 0, 1],
            [-1.7, -1.7, 1.7],
        ],
    ];
    for (const [centre, colour] of balls) {
        for (let i = 0; i < 27; i++) {
            const offset = [(i % 3) - 1, (Math.floor(i / 3) % 3) - 1, Math.floor(i / 9) - 1];
            const mean = centre.map((value, k) => value + 0.12 * offset[k]);
            rows.push([...mean, ...colour, 4, -2.2, -2.2, -2.2, 1, 0, 0, 0].join(" "));
        }
    }
    const names =
        "x y z f_dc_0 f_dc_1 f_dc_2 opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3";
    const header = [
        "ply",
        "format ascii 1.0",
        "comment retake_axes flu",
        `element vertex ${rows.length}`,
    ];
    for (const name of names.split(" ")) header.push(`property float ${name}`);
    return [...header, "end_header", ...rows, ""].join("\n");
}

async function startServer(folder) {
    const binary = process.env.RETAKE_BINARY;
    if (!binary || !fs.existsSync(binary)) skip("RETAKE_BINARY is not set");
    const server = spawn(binary, ["serve", "--port", "0", "--data", folder], {
        stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    const address = await new Promise((resolve, reject) => {
        const look = (chunk) => {
            text += chunk;
            const match = /http:\/\/[^\s/]+/.exec(text);
            if (match) resolve(match[0]);
        };
        server.stdout.on("data", look);
        server.stderr.on("data", look);
        server.on("exit", () => reject(new Error(`the server stopped:\n${text}`)));
        setTimeout(() => reject(new Error(`no address within 20 s:\n${text}`)), 20000);
    });
    return { server, address };
}

// Runs every [name, function(page, address, folder)] and prints the plain closing line.
export async function runSuite(tests) {
    const { chromium, executablePath } = await playwright();
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "retake-browser-"));
    const { server, address } = await startServer(path.join(folder, "data"));
    const browser = await chromium.launch({
        executablePath,
        args: [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ],
    });
    let failed = 0;
    try {
        for (const [name, test] of tests) {
            const context = await browser.newContext({ viewport: { width: 1000, height: 640 } });
            const page = await context.newPage();
            const errors = [];
            page.on("pageerror", (error) => errors.push(String(error)));
            try {
                await test(page, address, folder);
                if (errors.length) throw new Error(`script errors: ${errors.join("; ")}`);
                console.log(`ok   ${name}`);
            } catch (error) {
                failed += 1;
                const shown = await page.locator("body").innerText();
                console.log(`FAIL ${name}\n${error.stack}\n${page.url()}\n${shown}`);
            }
            await context.close();
        }
    } finally {
        await browser.close();
        server.kill("SIGTERM");
        await new Promise((resolve) => server.on("exit", resolve));
        fs.rmSync(folder, { recursive: true, force: true });
    }
    console.log(`${tests.length - failed} passed, ${failed} failed`);
    process.exit(failed ? 1 : 0);
}

export function runRetake(parameters) {
    const run = spawnSync(process.env.RETAKE_BINARY, parameters, { encoding: "utf8" });
    if (run.status !== 0) throw new Error(`retake ${parameters.join(" ")}: ${run.stderr}`);
    return run.stdout;
}
