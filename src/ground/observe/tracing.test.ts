import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { OperatingError } from "../kernel/errors.ts";
import type { LeafId, QueryId, WorkId } from "../kernel/ids.ts";
import type { Executor } from "../work/index.ts";
import { traceExecutor } from "../work/trace-executor.ts";
import { createOtlpTracing } from "./otlp-tracing.ts";
import { parseTraceparent, traceIdsOf } from "./trace-ids.ts";
import { silentTracing, startTracing } from "./tracing.ts";

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  status: { code?: number };
  links?: { traceId: string }[];
  attributes: { key: string; value: { stringValue?: string } }[];
}

const spans: OtlpSpan[] = [];
const collector = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => {
    for (const { scopeSpans } of JSON.parse(body).resourceSpans) {
      for (const scope of scopeSpans) spans.push(...scope.spans);
    }
    response.end("{}");
  });
});
await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
after(() => collector.close());

const queryId = "q-42" as QueryId;
const work = {
  queryId,
  leafId: "leaf" as LeafId,
  workId: "work-1" as WorkId,
  kind: "sql",
  body: "{}",
  affinityKey: "",
};
const produced = {
  path: "/x",
  sizeBytes: 10,
  checksum: "sha256:0",
  rowCount: 1,
  minTs: undefined,
  maxTs: undefined,
  schemaVersion: 1,
};

test("[OB6] a work's span is a child of its query's, though no process told the other", async () => {
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = endpoint;
  const config = { instance: "x", version: "1", env: {} };
  const api = createOtlpTracing({ ...config, serviceName: "capstan-coordinator" });
  const worker = createOtlpTracing({ ...config, serviceName: "capstan-worker" });
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;

  const caller = "4bf92f3577b34da6a3ce929d0e0e4736";
  const query = api.startQuery(queryId, "sql", `00-${caller}-00f067aa0ba902b7-01`);
  const good: Executor = { execute: async () => produced };
  const bad: Executor = {
    execute: async () => {
      throw new OperatingError("bad_sql", "never", "no such table");
    },
  };
  const signal = new AbortController().signal;
  await traceExecutor(worker, good).execute(work, "/x", signal, 1);
  await assert.rejects(traceExecutor(worker, bad).execute(work, "/x", signal, 1), {
    code: "bad_sql",
  });
  query.end();
  query.end({ code: "late", message: "ends once" });
  await Promise.all([api.close(), worker.close()]);

  const root = spans.find(({ name }) => name === "query sql");
  const works = spans.filter(({ name }) => name === "work sql");
  const { traceId, spanId } = traceIdsOf(queryId);
  assert.equal(root?.traceId, traceId);
  assert.equal(root.spanId, spanId);
  assert.equal(root.parentSpanId ?? "", "");
  assert.equal(root.links?.[0]?.traceId, caller);
  assert.equal(works.length, 2);
  for (const span of works) {
    assert.equal(span.traceId, traceId);
    assert.equal(span.parentSpanId, spanId);
    const workId = span.attributes.find(({ key }) => key === "work_id");
    assert.equal(workId?.value.stringValue, "work-1");
  }
  assert.deepEqual(
    works.map(({ status }) => status.code ?? 0),
    [0, 2],
  );
  assert.notEqual(works[0]?.spanId, works[1]?.spanId);
});

test("[OB6] without an endpoint nothing is traced", async () => {
  const config = { serviceName: "x", instance: "x", version: "1", env: {} };
  assert.equal(await startTracing(config), silentTracing);
});

test("[OB6] a traceparent that cannot be read is none", () => {
  const good = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  assert.deepEqual(parseTraceparent(good), { traceId: "a".repeat(32), spanId: "b".repeat(16) });
  for (const bad of [
    undefined,
    "",
    "x",
    good.slice(1),
    `00-${"0".repeat(32)}-${"b".repeat(16)}-01`,
  ]) {
    assert.equal(parseTraceparent(bad), undefined);
  }
});
