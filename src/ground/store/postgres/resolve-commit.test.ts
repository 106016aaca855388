import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createPrng } from "../../kernel/prng.ts";
import { RetryBound } from "../catalog/retry-bound.ts";
import { resolveCommit } from "./resolve-commit.ts";

const bound = new RetryBound(realClock, createPrng("test"), {
  minMs: 1,
  maxMs: 10,
  retryMsMax: 50,
});

test("[ST12] a server that cannot tell, or is never reached: unknown", async () => {
  const pool = new pg.Pool({ host: "127.0.0.1", port: 1 });
  assert.equal(await resolveCommit(pool, { xid: undefined }, bound), "unknown");
  assert.equal(await resolveCommit(pool, { xid: "7" }, bound), "unknown");
  await pool.end();
});
