import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startApi } from "./server.ts";
import { apiConfig, bothTokens, FakeCluster } from "./testing/fake-ports.ts";

const base = mkdtempSync(join(tmpdir(), "capstan-dashboard-"));
const dist = join(base, "dist");
writeFileSync(join(base, "secret.txt"), "secret");
const api = await startApi(
  { ...apiConfig(bothTokens), dashboardDirs: [join(base, "absent"), dist] },
  new FakeCluster().ports(),
);
after(async () => {
  api.force();
  await api.close();
  rmSync(base, { recursive: true, force: true });
});

/** Sends the path unchanged; `fetch` would normalise it. */
async function get(
  path: string,
  accept = "text/html",
  more: Readonly<Record<string, string>> = {},
): Promise<{ status: number; text: string; cache: string }> {
  const request = httpRequest({
    port: api.port,
    host: "127.0.0.1",
    path,
    headers: { accept, ...more },
  });
  request.end();
  const [response] = await once(request, "response");
  let text = "";
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, text, cache: String(response.headers["cache-control"]) };
}

test("[AP19] before it is built the page says so; as soon as it is, it is served", async () => {
  assert.match((await get("/")).text, /not built/);
  mkdirSync(join(dist, "assets"), { recursive: true });
  writeFileSync(join(dist, "index.html"), "<title>page</title>");
  writeFileSync(join(dist, "favicon.svg"), "<svg/>");
  writeFileSync(join(dist, "assets", "main-1a2b.js"), "code");
  for (const path of ["/", "/workers", "/workers/worker-1", "/?x=1", "/index.html"]) {
    const { status, text, cache } = await get(path);
    assert.equal(status, 200, path);
    assert.equal(text, "<title>page</title>", path);
    assert.equal(cache, "no-cache", path);
  }
  assert.equal((await get("/favicon.svg", "image/svg+xml")).text, "<svg/>");
  const asset = await get("/assets/main-1a2b.js", "*/*");
  assert.equal(asset.text, "code");
  assert.match(asset.cache, /max-age=31536000, immutable/);
});

test("[AP12] a page that another site's link led to is marked, and is never the browser's unmarked copy", async () => {
  const mark = '<meta name="capstan-arrival" content="elsewhere" />';
  const ask = async (site: string) =>
    await get("/explore?q=up", "text/html", {
      ...{ "sec-fetch-site": site, "sec-fetch-mode": "navigate" },
      ...{ "if-none-match": "*", "if-modified-since": new Date().toUTCString() },
    });
  for (const site of ["cross-site", "same-site"]) {
    const want = { status: 200, text: `${mark}<title>page</title>`, cache: "no-store" };
    assert.deepEqual(await ask(site), want, site);
  }
  for (const site of ["none", "same-origin"]) {
    assert.doesNotMatch((await ask(site)).text, /capstan-arrival/, site);
  }
});

test("[AP19] what is not there is a 404 in our shape, for the API and for files", async () => {
  for (const path of ["/api/v1/nothing", "/nothing.js", "/assets/nothing.js"]) {
    const { status, text } = await get(path);
    assert.equal(status, 404, path);
    assert.equal(JSON.parse(text).code, "not_found", path);
  }
  assert.equal((await get("/workers", "application/json")).status, 404);
});

test("[AP19] nothing outside the dashboard's directory is served", async () => {
  for (const path of [
    "/../secret.txt",
    "/assets/../../secret.txt",
    "/assets/%2e%2e/%2e%2e/secret.txt",
    "/assets/..%2f..%2fsecret.txt",
    "/assets//etc/passwd",
    "/%2e%2e/secret.txt",
  ]) {
    const { status, text } = await get(path, "*/*");
    assert.ok(status >= 400 && text !== "secret", path);
  }
});
