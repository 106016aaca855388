import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import type { CatalogSnapshot } from "../core/planner.ts";
import { emptySnapshot, snapshotOf } from "../testing/snapshots.ts";
import { ThreadPlanner } from "./thread-planner.ts";

const never = new AbortController().signal;
const source = `CREATE LOGICAL SOURCE s(a INT8);
  CREATE PHYSICAL SOURCE FOR s TYPE File SET('f' AS "SOURCE".FILE_PATH); CREATE SINK k TYPE Void;`;

async function codeOf(plan: Promise<unknown>): Promise<string> {
  const thrown = await plan.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof OperatingError, String(thrown));
  return thrown.code;
}

test("[SC20] plans are made on a thread, and its errors keep place and number", async () => {
  const planner = new ThreadPlanner({ clock: realClock });
  try {
    const on = snapshotOf(source);
    const [planned] = await planner.plan(["SELECT a FROM s INTO k"], on, never);
    assert.ok(planned?.kind === "change" && planned.change.kind === "createQuery");
    assert.deepEqual(planned.change.physicalSources, ["2"]);
    await assert.rejects(
      planner.plan(["SELECT b FROM s INTO k"], on, never),
      (thrown) =>
        thrown instanceof OperatingError &&
        thrown.code === "BinderError" &&
        thrown.number === 2003 &&
        thrown.position?.column === 8,
    );
  } finally {
    await planner.close();
  }
});

test("[SC26] what a statement does not say, the dialect of the coordinator does", async () => {
  const late = async (dialect: "capstan" | "nebulastream"): Promise<unknown> => {
    const planner = new ThreadPlanner({ clock: realClock, dialect });
    try {
      const statements = ["SELECT a FROM s INTO k", "CREATE SINK p TYPE Print"];
      const [query, sink] = await planner.plan(statements, snapshotOf(source), never);
      assert.ok(query?.kind === "change" && query.change.kind === "createQuery");
      assert.ok(sink?.kind === "change" && sink.change.kind === "createSink");
      return [query.change.plan.plan.settings.late, sink.change.formatter.FLOATS];
    } finally {
      await planner.close();
    }
  };
  assert.deepEqual(await late("capstan"), ["drop", "shortest"]);
  assert.deepEqual(await late("nebulastream"), ["fail", "fixed"]);
});

test("[SC20] the thread takes over a newer version, and keeps it for later plans", async () => {
  const planner = new ThreadPlanner({ clock: realClock });
  const plan = (on: CatalogSnapshot): Promise<unknown> =>
    planner.plan(["SELECT a FROM s INTO k"], on, never);
  try {
    assert.equal(await codeOf(plan(emptySnapshot())), "BinderError");
    const newer = { ...snapshotOf(source), version: 2 };
    await plan(newer);
    // What has the version of the plan before is not sent again.
    await plan({ ...newer, logicalSources: [], physicalSources: [], sinks: [] });
    assert.equal(await codeOf(plan({ ...emptySnapshot(), version: 3 })), "BinderError");
  } finally {
    await planner.close();
  }
});

test("[SC20] a plan that takes too long costs its thread, and the next one has another", async () => {
  let end = (): void => undefined;
  const clock: Clock = {
    ...realClock,
    nowMs: () => realClock.nowMs(),
    after: (delayMs, fire) => {
      if (delayMs !== 10_000) return realClock.after(delayMs, fire);
      end = fire;
      return { cancel: () => undefined };
    },
  };
  const planner = new ThreadPlanner({ clock });
  try {
    const on = snapshotOf(source);
    const late = planner.plan(["SELECT a FROM s INTO k"], on, never);
    const next = planner.plan(["SELECT a FROM s INTO k"], on, never);
    // The thread has not even started when its time is over.
    await Promise.resolve().then(() => undefined);
    end();
    assert.equal(await codeOf(late), "deadline_exceeded");
    assert.equal((await next).length, 1);
  } finally {
    await planner.close();
  }
});

test("[SC20] more plans than may wait are refused, and who gives up waits no longer", async () => {
  const planner = new ThreadPlanner({ clock: realClock, waitingMax: 2 });
  const on = snapshotOf(source);
  const plan = (signal = never): Promise<unknown> => planner.plan(["SHOW QUERIES"], on, signal);
  try {
    const given = new AbortController();
    const [first, second, third] = [plan(), plan(given.signal), plan()];
    assert.equal(await codeOf(plan()), "overloaded");
    given.abort();
    assert.equal(await codeOf(second), "cancelled");
    await Promise.all([first, third]);
    await plan();
  } finally {
    await planner.close();
  }
  assert.equal(await codeOf(plan()), "shutting_down");
});
