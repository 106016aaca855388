/**
 * What a server says of single queries after a run: Snowflake's own client against a stub of its
 * protocol, through the death of a coordinator.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startStubSnowflake } from "../../src/kinds/load/targets/snowflake/testing/stub-snowflake.ts";
import { getJson, http, rowsOf, startCluster, stopEverything, waitFor } from "./harness.ts";

interface Status {
  readonly enrichment_status: string;
  readonly enrichment_ratio: number | null;
  readonly app_overhead_p95_ms: number | null;
}

test("[EX1] [EX2] [RV1] [AM1] single queries get their server's figures, also when the coordinator dies meanwhile", async () => {
  const stub = await startStubSnowflake(() => Date.now());
  stub.historyMax = 0; // As Snowflake's, it lags.
  const cluster = await startCluster({ workers: 1 });
  try {
    const post = async (path: string, body: unknown = {}): Promise<Record<string, unknown>> => {
      const response = await http(`${cluster.url}${path}`, { method: "POST", body });
      assert.equal(response.status, 200, await response.clone().text());
      return (await response.json()) as Record<string, unknown>;
    };
    const { test_id: id } = await post("/api/runs", {
      password: "right",
      template: {
        name: "enriched",
        target: {
          url: `snowflake://me@account/DB/S?access_url=${encodeURIComponent(stub.url)}`,
          warehouse: "load_wh",
        },
        workload: {
          concurrent_connections: 2,
          duration_seconds: 3,
          warmup_seconds: 1,
          think_time_ms: 20,
          operations: [
            {
              name: "look",
              kind: "POINT_LOOKUP",
              percent: 100,
              statements: ["SELECT :id + 0"],
              parameters: { id: { kind: "integer", max: 9 } },
            },
          ],
        },
      },
    });
    const status = (): Promise<Status> =>
      getJson<Status>(`${cluster.url}/api/tests/${id}/enrichment-status`);
    await post(`/api/tests/${id}/start`);
    await waitFor(
      "enrichment",
      async () => ((await status()).enrichment_status === "RUNNING" ? true : undefined),
      60_000,
    );
    cluster.kill("coordinator", "SIGKILL");
    stub.historyMax = Infinity;
    const done = await waitFor(
      "its end, by the next coordinator",
      async () => {
        const found = await status().catch(() => undefined);
        return found?.enrichment_status === "COMPLETED" ? found : undefined;
      },
      90_000,
    );
    assert.ok((done.enrichment_ratio ?? 0) >= 0.9, JSON.stringify(done));
    assert.equal(typeof done.app_overhead_p95_ms, "number");
    const { items } = await getJson<{ items: readonly Record<string, unknown>[] }>(
      `${cluster.url}/api/tests/${id}/query-executions?limit=1000`,
    );
    const told = items.filter((each) => each.sf_query_id !== null);
    assert.ok(told.length >= items.length * 0.9);
    for (const each of told) {
      assert.deepEqual(
        [each.sf_total_elapsed_ms, each.sf_execution_ms, each.sf_cluster_number],
        [5, 3, 1],
      );
    }
    assert.equal(new Set(told.map((each) => each.sf_query_id)).size, told.length);

    const views = await getJson<Record<string, readonly Record<string, number>[]>>(
      `${cluster.url}/api/tests/${id}/views`,
    );
    assert.equal(views.cluster_breakdown?.[0]?.cluster_number, 1);
    assert.equal(views.cluster_breakdown?.[0]?.avg_execution_ms, 3);
    assert.equal(views.warehouse_timeseries?.[0]?.active_clusters, 1);

    await post(`/api/tests/${id}/retry-enrichment`);
    await waitFor(
      "the end of the second",
      async () => ((await status()).enrichment_status === "COMPLETED" ? true : undefined),
      60_000,
    );
    const [[rows, executions]] = (await rowsOf(
      cluster.url,
      "SELECT count(*)::INTEGER, count(DISTINCT execution_id)::INTEGER FROM query_enrichments",
    )) as [[number, number]];
    assert.equal(rows, executions, "nothing was written twice");
  } finally {
    await cluster.stop();
    await stopEverything();
    await stub.close();
  }
});

test("[RH4] a run that is older than runs are kept goes, with its records in the lake", async () => {
  const cluster = await startCluster({
    workers: 1,
    args: ["--keep-runs", "8s", "--upkeep-every", "1s"],
  });
  try {
    const path = `${cluster.url}/api/tests`;
    await waitFor("the demo", async () =>
      (await http(`${cluster.url}/api/templates/demo`)).ok ? true : undefined,
    );
    const isGone = async (id: string): Promise<boolean> =>
      (await http(`${path}/${id}`)).status === 404;
    const countOf = async (id: string): Promise<number> => {
      const count = `SELECT count(*)::INTEGER FROM query_executions WHERE run_id = '${id}'`;
      return Number((await rowsOf(cluster.url, count))[0]?.[0]);
    };
    /** Whether its records were seen. On a slow machine they may go before anybody looked. */
    const seesRecords = async (id: string): Promise<boolean> =>
      await waitFor("records, or the run's end", async () => {
        const found = await countOf(id).catch(() => 0);
        if (found > 0) return true;
        return (await isGone(id)) ? false : undefined;
      });
    let id = "";
    await waitFor("a run whose records are seen", async () => {
      const prepared = await http(`${path}/from-template/demo`, {
        method: "POST",
        body: { settings: ["duration=1", "warmup=0", "connections=1"] },
      });
      ({ test_id: id } = (await prepared.json()) as { test_id: string });
      await http(`${path}/${id}/start`, { method: "POST" });
      return (await seesRecords(id)) ? true : undefined;
    });
    await waitFor("its end", async () => ((await isGone(id)) ? true : undefined));
    assert.equal(await countOf(id), 0);
  } finally {
    await cluster.stop();
    await stopEverything();
  }
});
