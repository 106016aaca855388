import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { createTestAuthority } from "../../../../../ground/work/testing/test-certificates.ts";
import { parseScrapeConfig } from "../../core/ingest/scrape/parse-scrape-config.ts";
import { buildTargets, type Target } from "../../core/ingest/scrape/target.ts";
import { FsTargetFiles } from "./fs-target-files.ts";
import { HttpScrapeFetcher } from "./http-scrape-fetcher.ts";

let server: Server;
let port: number;
let baseDir: string;
let fetcher: HttpScrapeFetcher;
let seen: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];

const pages: Readonly<Record<string, RequestListener>> = {
  "/metrics": (_, response) => response.setHeader("content-type", "text/plain").end("a 1\n"),
  "/gzip": (_, response) =>
    response
      .writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" })
      .end(gzipSync("a 2\n".repeat(1_000))),
  "/broken-gzip": (_, response) =>
    response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip"),
  "/moved": (_, response) => response.writeHead(302, { location: "/metrics" }).end(),
  "/round": (_, response) => response.writeHead(302, { location: "/round" }).end(),
  "/error": (_, response) => response.writeHead(503).end("not now"),
  "/cut": (_, response) => {
    response.writeHead(200, { "content-length": "1000" }).write("a 1\n");
    setTimeout(() => response.destroy(), 10);
  },
  "/hang": () => undefined,
};

before(async () => {
  baseDir = await mkdtemp(join(tmpdir(), "capstan-scrape-"));
  fetcher = new HttpScrapeFetcher("capstan/test");
  fetcher.baseDir = baseDir;
  server = createServer((request, response) => {
    seen.push({ url: request.url, headers: request.headers });
    const page = pages[request.url?.split("?")[0] ?? ""];
    if (page === undefined) response.writeHead(404).end();
    else page(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});

after(async () => {
  fetcher.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(baseDir, { recursive: true });
});

function targetOf(path: string, fields = ""): Target {
  const [job] = parseScrapeConfig(
    `scrape_configs: [{job_name: j, metrics_path: ${path}, static_configs: [{targets: ['127.0.0.1:${port}']}]${fields}}]`,
  ).jobs;
  const [target] = job === undefined ? [] : buildTargets(job, job.staticGroups).targets;
  assert.ok(target !== undefined);
  return target;
}

async function fetchText(path: string, fields = ""): Promise<string> {
  seen = [];
  const { body } = await fetcher.fetch(targetOf(path, fields), new AbortController().signal);
  return new TextDecoder().decode(body);
}

test("[IN19] a scrape over HTTP says what it accepts and who it is", async () => {
  assert.equal(await fetchText("/metrics", ", params: {x: [y z]}"), "a 1\n");
  const [request] = seen;
  assert.equal(request?.url, "/metrics?x=y+z");
  assert.match(request?.headers.accept ?? "", /^application\/openmetrics-text;version=1\.0\.0/);
  assert.equal(request?.headers["accept-encoding"], "gzip");
  assert.equal(request?.headers["user-agent"], "capstan/test");
  assert.equal(request?.headers["x-prometheus-scrape-timeout-seconds"], "10");
});

test("[IN19] gzip is undone, redirects are followed", async () => {
  assert.equal(await fetchText("/gzip"), "a 2\n".repeat(1_000));
  assert.equal(await fetchText("/moved"), "a 1\n");
});

const failures = [
  { path: "/error", fields: "", want: /server returned HTTP status 503 Service Unavailable/ },
  { path: "/nowhere", fields: "", want: /server returned HTTP status 404 Not Found/ },
  { path: "/moved", fields: ", follow_redirects: false", want: /HTTP status 302/ },
  { path: "/round", fields: "", want: /stopped after 10 redirects/ },
  { path: "/gzip", fields: ", body_size_limit: 1KB", want: /body size limit exceeded/ },
  { path: "/broken-gzip", fields: "", want: /incorrect header check/ },
  { path: "/cut", fields: "", want: /aborted/ },
];
for (const { path, fields, want } of failures) {
  test(`[IN19] a scrape of ${path}${fields} fails`, async () => {
    await assert.rejects(fetchText(path, fields), want);
  });
}

test("[IN19] a scrape ends when its signal does, before and after the answer begins", async () => {
  for (const path of ["/hang", "/cut"]) {
    const aborter = new AbortController();
    const answer = fetcher.fetch(targetOf(path), aborter.signal);
    setTimeout(() => aborter.abort(), 5);
    await assert.rejects(answer);
  }
});

test("[IN19] secrets come from the text or from files that are read each time", async () => {
  await writeFile(join(baseDir, "secret"), "first\n");
  await fetchText("/metrics", ", basic_auth: {username: me, password_file: secret}");
  assert.equal(seen[0]?.headers.authorization, `Basic ${btoa("me:first")}`);
  await writeFile(join(baseDir, "secret"), "second\n");
  await fetchText("/metrics", ", authorization: {credentials_file: secret}");
  assert.equal(seen[0]?.headers.authorization, "Bearer second");
});

test("[IN19] a scrape over HTTPS believes the job's authority, or anybody when told to", async (t) => {
  const authority = await createTestAuthority("scrape");
  const { cert, key } = await authority.identity("target");
  const secure = createSecureServer({ cert, key }, (_, response) => {
    response.setHeader("content-type", "text/plain").end("a 3\n");
  });
  await new Promise<void>((resolve) => secure.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    secure.closeAllConnections();
    secure.close();
  });
  const plainPort = port;
  port = (secure.address() as AddressInfo).port;
  t.after(() => {
    port = plainPort;
  });
  await writeFile(join(baseDir, "ca.pem"), authority.ca);
  assert.equal(await fetchText("/", ", scheme: https, tls_config: {ca_file: ca.pem}"), "a 3\n");
  assert.equal(
    await fetchText("/", ", scheme: https, tls_config: {insecure_skip_verify: true}"),
    "a 3\n",
  );
  await assert.rejects(fetchText("/", ", scheme: https"), /certificate/);
  await assert.rejects(
    fetchText("/", ", scheme: https, tls_config: {ca_file: none.pem}"),
    /none\.pem/,
  );
});

test("[IN18] files of targets are found by their pattern, in order", async () => {
  await writeFile(join(baseDir, "b.json"), "[]");
  await writeFile(join(baseDir, "a.json"), "[]");
  await writeFile(join(baseDir, "c.txt"), "");
  const target = new FsTargetFiles();
  target.baseDir = baseDir;
  const files = await target.read({
    files: ["*.json", "a.json"],
    refreshMs: 1,
  });
  assert.deepEqual(
    files.map(({ path }) => path),
    [join(baseDir, "a.json"), join(baseDir, "b.json")],
  );
});
