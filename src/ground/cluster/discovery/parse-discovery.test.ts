import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import type { Target } from "../core/index.ts";
import { parseDiscovery } from "./parse-discovery.ts";

const parse = (text: string) => parseDiscovery(text, realClock, silentLogger);

test("[PR10] a list of workers is read as it is written", () => {
  assert.equal(parse("store"), undefined);
  let found: readonly Target[] = [];
  parse("static:10.0.0.1:5000, worker.example:5001,[::1]:5002")?.start((targets) => {
    found = targets;
  });
  assert.deepEqual(
    found.map(({ address }) => address),
    [
      { host: "10.0.0.1", grpcPort: 5000 },
      { host: "worker.example", grpcPort: 5001 },
      { host: "::1", grpcPort: 5002 },
    ],
  );
  assert.equal(parse("dns:workers.example:5000")?.adopts, true);
  assert.equal(parse("srv:_grpc._tcp.workers.example")?.adopts, true);
});

test("[PR10] what is no way to find workers is refused", () => {
  for (const text of [
    "",
    "x",
    "static:",
    "static:host",
    "static:host:0",
    "static:host:99999",
    "dns:name",
  ]) {
    assert.throws(() => parse(text), { code: "bad_request" }, text);
  }
});
