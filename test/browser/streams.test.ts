/**
 * The Streams page in a real browser, in states that a healthy cluster is seldom in, against an API
 * made for them.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ensureDashboard } from "../../web/build.ts";
import { type FakeApi, fakeWorker } from "../../web/testing/fake-api.ts";
import { launchBrowser } from "./browser.ts";
import { assertFits, eventually, type PageOptions, withoutRefusals } from "./dashboard-page.ts";
import { openScene, type Scene } from "./scene.ts";

let browser: Browser;
before(async () => {
  await ensureDashboard();
  browser = await launchBrowser();
});
after(async () => await browser?.close());

/** With one worker, as queries need. */
async function open(
  path: string,
  prepare: (api: FakeApi) => void,
  options: PageOptions = {},
): Promise<Scene> {
  const withWorker = (api: FakeApi): void => {
    api.setWorker(fakeWorker(1));
    prepare(api);
  };
  return await openScene(browser, path, withWorker, options);
}

/** One query in each condition. */
function allConditions({ streams }: FakeApi): void {
  streams.add("running");
  streams.add("pending", { state: "PENDING", state_reason: "accepted; not deployed yet" });
  streams.add("deploying", { state: "DEPLOYING", fragments: { RUNNING: 1, STARTED: 3 } });
  streams.add("redeploying", {
    state: "DEPLOYING",
    epoch: 2,
    state_reason: "worker-2 is UNREACHABLE",
  });
  streams.add("partial", { state: "DEPLOYING", detail: "PARTIALLY_DEPLOYED" });
  streams.add("failing", { state: "TERMINATING" });
  streams.add("failed", {
    state: "FAILED",
    state_reason: "port 9,999 is taken ".repeat(12),
    error: { code: "InvalidConfig", number: 1000, worker_id: "worker-3" },
  });
  streams.add("stopping", { state: "STOPPING", desired_state: "STOPPED", stop_mode: "SOFT" });
  streams.add("stuck", {
    state: "STOPPING",
    desired_state: "STOPPED",
    stop_mode: "HARD",
    detail: "STOPPING_STUCK",
    state_reason: "worker-2 is UNREACHABLE",
  });
  streams.add("paused", { state: "PAUSED", desired_state: "PAUSED" });
  streams.add("ended", { state: "TERMINATED", state_reason: "every fragment has ended" });
}

const worstFirst = [
  ...["failed", "failing", "stuck", "partial", "redeploying", "deploying", "pending"],
  ...["stopping", "paused", "running", "ended"],
];

test("[WEB71] each condition has a sign and a word of its own, the worst first, with its reason", async () => {
  await using scene = await open("/streams", allConditions);
  const { page } = scene;
  const names = async (): Promise<string[]> =>
    await page.locator("tbody .row-link").allTextContents();
  await eventually(names, worstFirst);
  for (const condition of worstFirst) {
    const row = page.locator(`tr[data-query="${condition}"]`);
    assert.equal(await row.getAttribute("data-condition"), condition);
  }
  const signs = await page
    .locator("tbody .state svg")
    .evaluateAll((all) => all.map((svg) => (svg as { innerHTML: string }).innerHTML));
  assert.equal(new Set(signs).size, worstFirst.length);
  await page.locator('tr[data-query="stuck"]').getByText("Stopping, stuck").waitFor();
  await page.locator('tr[data-query="stuck"]').getByText("worker-2 is UNREACHABLE").waitFor();
  await page.locator('tr[data-query="partial"]').getByText("Partially deployed").waitFor();
  await page.locator('tr[data-query="stopping"]').getByText("is being stopped softly").waitFor();
  await page.locator('tr[data-query="failed"]').getByText("worker-3: port 9,999").waitFor();
  assert.deepEqual(scene.complaints, []);
});

test("[WEB72] queries are found by text and state, in the address, and the list follows them", async () => {
  await using scene = await open("/streams?state=failed", allConditions);
  const { api, page } = scene;
  const names = async (): Promise<string[]> =>
    await page.locator("tbody .row-link").allTextContents();
  await eventually(names, ["failed"]);
  await page.getByText("All 11", { exact: true }).click();
  await page.getByLabel("Filter queries").fill("unreachable");
  await eventually(names, ["stuck", "redeploying"]);
  await page.reload();
  await eventually(names, ["stuck", "redeploying"]);
  await page.getByLabel("Filter queries").fill("nothing like it");
  await page.getByText("No query matches").waitFor();
  await page.getByRole("button", { name: "Show all 11" }).click();
  api.streams.change("running", { state: "FAILED", state_reason: "out of memory" });
  await page.locator('tr[data-query="running"][data-condition="failed"]').waitFor();
  api.streams.remove("paused");
  await eventually(async () => (await names()).includes("paused"), false);
});

test("[WEB72] the list has what each query does, and why no rows come out", async () => {
  await using scene = await open("/streams", ({ streams }) => {
    streams.add("hot_items");
    streams.add("silent");
    const live = streams.live.get("silent");
    assert.ok(live !== undefined);
    const nothing = { rows_out: 0, rows_out_per_second: 0 };
    const fragments = live.fragments.map((each) => ({ ...each, ...nothing }));
    streams.live.set("silent", { ...live, fragments });
    streams.add("paused", { state: "PAUSED", desired_state: "PAUSED" });
  });
  const { page } = scene;
  const row = (name: string) => page.locator(`tr[data-query="${name}"]`);
  await row("hot_items").getByText("20,188").waitFor();
  await row("hot_items").getByText("199", { exact: true }).waitFor();
  await row("hot_items").getByText("2 s", { exact: true }).waitFor();
  const why = "no rows come out: time comes from the source bids alone";
  await row("silent").getByText(why).waitFor();
  assert.equal(await row("hot_items").getByText("no rows come out").count(), 0);
  await eventually(async () => await row("paused").getByText("–", { exact: true }).count(), 3);
});

test("[WEB73] a query's page: figures, what holds it back, fragments, checkpoints, history, statement", async () => {
  await using scene = await open("/streams", ({ streams }) => streams.add("hot_items"));
  const { api, page } = scene;
  await page.getByRole("link", { name: "hot_items" }).click();
  await page.getByRole("heading", { name: "hot_items" }).waitFor();
  const state = page.getByRole("status", { name: "State" });
  await state.getByText("Running").waitFor();
  const figure = (name: string) =>
    page.locator(".figure-cell", { has: page.getByText(name, { exact: true }) });
  await figure("Rows in").getByText("20,188").waitFor();
  await figure("Rows out").getByText("199").waitFor();
  await figure("Behind").getByText("2 s", { exact: true }).waitFor();
  await figure("Backpressure").getByText("62 %").waitFor();
  await figure("Late rows").getByText("12").waitFor();
  await figure("Late rows").getByText("8 malformed").waitFor();
  await figure("Last checkpoint").getByText("12.0 KiB in 83 ms").waitFor();
  await page.getByText("time comes from the source bids alone.").waitFor();
  const rows = async (table: string): Promise<number> =>
    await page.getByRole("table", { name: table }).locator("tbody tr").count();
  assert.equal(await rows("Checkpoints"), 3);
  assert.equal(await rows("History"), 3);
  await page.getByText("WINDOW TUMBLING").waitFor();
  await page.getByText("List", { exact: true }).click();
  const fragments = page.getByRole("table", { name: "Fragments" });
  await fragments.getByRole("link", { name: "worker-3" }).waitFor();
  api.streams.change("hot_items", {
    state: "DEPLOYING",
    epoch: 2,
    state_reason: "worker-2 is UNREACHABLE; its fragments wait for it",
  });
  await state.getByText("Redeploying").waitFor();
  await page.getByText("its fragments wait for it").waitFor();
  // What was told of the older epoch is not known of this one.
  await figure("Rows in").getByText("–", { exact: true }).waitFor();
  api.setWorker(fakeWorker(2, { state: "UNREACHABLE" }));
  await page.getByText("worker-2 cannot be reached").waitFor();
  await page.getByText("Graph", { exact: true }).click();
  await page.locator('.node[data-fragment="s1.0"]').getByText("Worker unreachable").waitFor();
  api.streams.remove("hot_items");
  await page.getByText("hot_items is gone").waitFor();
  assert.deepEqual(withoutRefusals(scene.complaints), []);
});

test("[WEB73] where nobody knows figures the page has the catalog's part, and says so", async () => {
  await using scene = await open("/streams/queries/hot_items", ({ streams }) => {
    streams.add("hot_items");
    streams.standby = true;
  });
  const { page } = scene;
  await page.getByText("There are no figures: this process does not hold the lease").waitFor();
  await eventually(async () => await page.locator(".stream-fragment").count(), 4);
});

test("[WEB73] a query that is not there says so", async () => {
  await using scene = await open("/streams/queries/missing", () => undefined);
  await scene.page.getByText("There is no such query").waitFor();
});

test("[WEB74] a query is paused, resumed and stopped; stopping asks first, refusals are shown", async () => {
  await using scene = await open("/streams/queries/hot_items", ({ streams }) =>
    streams.add("hot_items"),
  );
  const { api, page } = scene;
  const state = page.getByRole("status", { name: "State" });
  await page.getByRole("button", { name: "Pause" }).click();
  await state.getByText("Paused").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await state.getByText("Pending").waitFor();
  api.streams.change("hot_items", { state: "RUNNING" });
  api.streams.readOnly = true;
  await page.getByRole("button", { name: "Stop softly…" }).click();
  const dialog = page.getByRole("dialog", { name: "Stop hot_items softly" });
  await dialog.getByText("what was read reaches the sinks").waitFor();
  await dialog.getByRole("button", { name: "Stop softly" }).click();
  await page.getByRole("alert").getByText("this token may read").waitFor();
  api.streams.readOnly = false;
  await page.getByRole("button", { name: "Stop softly…" }).click();
  await dialog.getByRole("button", { name: "Stop softly" }).click();
  await page.getByText("is being stopped softly").waitFor();
  await page.getByRole("button", { name: "Drop…" }).waitFor();
  const sent = api.requests.filter((request) => /^(POST|DELETE)/.test(request));
  assert.deepEqual(sent, [
    "POST /api/v1/streams/queries/id-hot_items/pause",
    "POST /api/v1/streams/queries/id-hot_items/resume",
    "DELETE /api/v1/streams/queries/id-hot_items?mode=soft",
    "DELETE /api/v1/streams/queries/id-hot_items?mode=soft",
  ]);
});

test("[WEB75] the graph goes from sources over fragments to sinks, with figures on its edges", async () => {
  await using scene = await open("/streams/queries/hot_items", ({ streams }) =>
    streams.add("hot_items"),
  );
  const { page } = scene;
  await eventually(async () => await page.locator(".node").count(), 6);
  await eventually(async () => await page.locator(".edge-label").count(), 6);
  const label = (edge: string) => page.locator(`.edge-label[data-edge="${edge}"]`);
  await label("s0.0 s1.1").getByText("1,235 rows/s", { exact: true }).waitFor();
  await label("s0.0 s1.1").getByText("2 s behind", { exact: true }).waitFor();
  await label("s0.0 s1.0").getByText("62 % backpressure", { exact: true }).waitFor();
  assert.equal(await label("s0.0 s1.0").getAttribute("data-tone"), "bad");
  await label("source bids s0.0").getByText("20,188 rows/s", { exact: true }).waitFor();
  await label("s2.0 sink hot").getByText("199 rows/s", { exact: true }).waitFor();
  await page.locator('.node[data-fragment="s1.0"]').focus();
  await eventually(async () => await page.locator(".edge-label").count(), 4);
  await page.keyboard.press("ArrowRight");
  await page.locator('.node[data-fragment="s2.0"]:focus').waitFor();
});

test("[WEB19, WEB71] the page fits narrow windows, in both schemes, with every condition", async () => {
  for (const [width, colorScheme] of [
    [320, "light"],
    [400, "dark"],
  ] as const) {
    await using scene = await open("/streams", allConditions, { width, colorScheme });
    const { page } = scene;
    await page.locator('tr[data-query="failed"]').waitFor();
    await assertFits(page);
    await page.getByRole("link", { name: "failed", exact: true }).click();
    await page.getByRole("table", { name: "Fragments" }).waitFor();
    await assertFits(page);
  }
});

test("[WEB72] without queries the page shows the statements for the first one, and runs them", async () => {
  await using scene = await open("/streams", () => undefined);
  const { api, page } = scene;
  const sent: string[] = [];
  api.sql = (sql, response) => {
    sent.push(sql);
    api.streams.add("hot_items");
    response.end('{"columns":[]}\n{"summary":{"row_count":0}}\n');
  };
  await page.getByText("Keep a query running").waitFor();
  await eventually(async () => await page.getByRole("button", { name: /^Copy: / }).count(), 4);
  await page.getByRole("button", { name: "Run all four" }).click();
  await page.getByRole("heading", { name: "hot_items" }).waitFor();
  assert.equal(sent.length, 1, "a bundle: all of it or none of it");
  assert.match(sent[0] ?? "", /CREATE LOGICAL SOURCE bids.*CREATE QUERY hot_items/s);
});

/** What `/api/v1/sql` answers for each text, and the texts that were sent. */
function answering(api: FakeApi, answers: Readonly<Record<string, object>>): readonly string[] {
  const sent: string[] = [];
  api.sql = (sql, response) => {
    sent.push(sql);
    const [, answer] = Object.entries(answers).find(([part]) => sql.includes(part)) ?? [];
    response.writeHead(422, { "content-type": "application/json" }).end(JSON.stringify(answer));
  };
  return sent;
}

test("[WEB76] the editor marks an error where it is, in the statement that has it", async () => {
  await using scene = await open("/streams", () => undefined);
  const { api, page } = scene;
  const sent = answering(api, {
    Lakes: {
      code: "SinkTypeDoesNotExist",
      message: "statement 2: there is no sink type Lakes",
      hint: "Did you mean Lake?",
      position: { line: 2, column: 7 },
      statement: 2,
    },
    PREVIEW: { code: "BinderError", message: "no nope", position: { line: 1, column: 16 } },
  });
  await page.getByRole("link", { name: "Editor" }).click();
  const editor = page.getByLabel("Statements about streams");
  await editor.fill("CREATE LOGICAL SOURCE a(b INT8);\n\n CREATE SINK c\n TYPE Lakes;");
  await page.keyboard.press("Control+Enter");
  const alert = page.getByRole("alert");
  await alert.getByText("there is no sink type Lakes").waitFor();
  await alert.getByText("Did you mean Lake?").waitFor();
  await alert.getByText("line 4, column 7").waitFor();
  await eventually(async () => await page.locator(".cm-lintRange").allTextContents(), ["Lakes"]);
  await page.keyboard.press("End");
  await page.keyboard.type(" ");
  await eventually(async () => await page.locator(".cm-lintRange").count(), 0);
  await editor.fill("SELECT nope FROM bids");
  await page.getByRole("button", { name: "Preview rows" }).click();
  await eventually(async () => await page.locator(".cm-lintRange").allTextContents(), ["nope"]);
  assert.equal(sent.at(-1), "PREVIEW SELECT nope FROM bids");
  assert.deepEqual(withoutRefusals(scene.complaints), []);
});

test("[WEB76] the editor leads to the query that it created, and keeps its text for the next visit", async () => {
  await using scene = await open("/streams/editor", () => undefined);
  const { api, page } = scene;
  api.sql = (_sql, response) => {
    api.streams.add("hot_items");
    const columns = ["object", "name", "id", "status"].map((name) => ({ name, type: "VARCHAR" }));
    response.write(`${JSON.stringify({ columns })}\n`);
    response.write('["sink","hot","3","created"]\n["query","hot_items","4","accepted"]\n');
    response.end('{"summary":{"row_count":2,"duration_ms":9,"worker_id":null}}\n');
  };
  await page.getByRole("button", { name: "A first query" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("cell", { name: "created", exact: true }).waitFor();
  await page.getByRole("link", { name: "To hot_items" }).click();
  await page.getByRole("heading", { name: "hot_items" }).waitFor();
  await page.goBack();
  await page.getByLabel("Statements about streams").getByText("CREATE QUERY").waitFor();
  assert.deepEqual(scene.complaints, []);
});

test("[WEB76] rows of a preview are shown as they come, until one stops looking", async () => {
  await using scene = await open("/streams/editor", () => undefined, { width: 400 });
  const { api, page } = scene;
  const gone = Promise.withResolvers<void>();
  api.sql = (_sql, response) => {
    response.on("close", () => gone.resolve());
    response.write('{"columns":[{"name":"auction","type":"UINT64"}]}\n[7]\n[14]\n');
  };
  await page.getByRole("button", { name: "Look at rows" }).click();
  await page.getByRole("button", { name: "Preview rows" }).click();
  await page.getByRole("cell", { name: "14", exact: true }).waitFor();
  await page.getByRole("status", { name: "Result" }).getByText("2 rows so far").waitFor();
  await assertFits(page);
  await page.getByRole("button", { name: "Stop looking" }).click();
  await gone.promise;
  await page.getByText("ended after 2 rows").waitFor();
});

/** Of each kind one, as the catalog has them. */
function definitions({ streams }: FakeApi): void {
  const field = (name: string, nullable: boolean) =>
    ({ name, type: { name: "UINT64", nullable } }) as const;
  const common = { created_at_ms: 0, watermark: null, definition: null } as const;
  const worker = { label: null, host: "127.0.0.1", grpc_port: 1, data_port: 2, peers: [] } as const;
  streams.snapshot = {
    sources: [
      { ...common, source_id: "1", name: "bids", kind: "LOGICAL", schema: [field("ts", false)] },
      { ...common, source_id: "5", name: "lonely", kind: "LOGICAL", schema: [field("a", true)] },
    ],
    views: [
      {
        ...common,
        ...{ source_id: "4", name: "late", kind: "VIEW", schema: [field("ts", true)] },
        definition: "SELECT ts FROM bids WHERE ts > UINT64(10)",
      },
    ],
    physical_sources: [
      {
        ...{ physical_source_id: "2", logical_source: "bids", type: "Generator", parser: {} },
        ...{ config: { ROWS_PER_SECOND: 20_000 }, worker_id: "worker-1", created_at_ms: 0 },
      },
    ],
    sinks: [
      {
        ...{ sink_id: "3", name: "hot", schema: null, type: "Lake", formatter: {} },
        ...{ config: { TABLE: "hot" }, worker_id: null, created_at_ms: 0 },
      },
    ],
    workers: [
      {
        ...{ ...worker, worker_id: "worker-1", slots: 1_000, slots_used: 250, draining: false },
        ...{ state: "ACTIVE", state_reason: "" },
      },
      {
        ...{ ...worker, worker_id: "worker-2", slots: 1_000, slots_used: 0, draining: false },
        ...{ state: "UNREACHABLE", state_reason: "no answer" },
      },
    ],
  };
}

test("[WEB77] definitions: sources with what they read from, sinks, views, workers with their slots", async () => {
  await using scene = await open("/streams", definitions, { width: 400, colorScheme: "dark" });
  const { page } = scene;
  await page.getByRole("link", { name: "Definitions" }).click();
  const sources = page.getByRole("table", { name: "Sources" });
  await sources.getByText("ts UINT64 NOT NULL").waitFor();
  await sources.getByText("ROWS_PER_SECOND = 20000").waitFor();
  await sources.getByText("2, on worker-1").waitFor();
  await sources.getByText("It has nothing to read from.").waitFor();
  await page.getByRole("table", { name: "Sinks" }).getByText("TABLE = 'hot'").waitFor();
  await page.getByRole("table", { name: "Views" }).getByText("WHERE ts >").waitFor();
  const workers = page.getByRole("table", { name: "Workers" });
  await workers.getByText("250 of 1,000").waitFor();
  await workers.locator('tr[data-worker="worker-2"]').getByText("Unreachable").waitFor();
  await assertFits(page);
  assert.deepEqual(scene.complaints, []);
});
