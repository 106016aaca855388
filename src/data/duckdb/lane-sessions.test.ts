import assert from "node:assert/strict";
import { after, test } from "node:test";
import { never, openTestSession, startTestEngine, type TestEngine } from "./testing/test-engine.ts";

const running: TestEngine = await startTestEngine({ connections: 2 });
after(() => running.close());
const { engine } = running;
const numbers = { schema: "main", name: "numbers", sql: "SELECT range AS n FROM range(5)" };

test("[QE2] a session keeps its tables and relations from statement to statement, and nobody else sees them", async () => {
  const one = await openTestSession(engine, [numbers], never);
  const two = await openTestSession(engine, [], never);
  await one.run("CREATE TEMP TABLE kept AS SELECT n * 2 AS d FROM numbers", never);
  await one.run("CREATE TABLE also AS SELECT sum(d) AS s FROM kept", never);
  assert.deepEqual(await one.run("SELECT s::INTEGER FROM also", never), [[20]]);
  for (const name of ["kept", "also", "numbers"]) {
    await assert.rejects(two.run(`SELECT * FROM ${name}`, never), /does not exist/);
  }
  await one.close();
  await two.close();
  const [three, four] = await Promise.all([
    openTestSession(engine, [], never),
    openTestSession(engine, [], never),
  ]);
  for (const session of [three, four]) {
    for (const name of ["kept", "also", "numbers"]) {
      await assert.rejects(session.run(`SELECT * FROM ${name}`, never), /does not exist/);
    }
  }
  await three.close();
  await four.close();
  await assert.rejects(four.run("SELECT 1", never), { code: "not_found" });
});

test("[QE2] a statement of a session can be cancelled, and the session goes on", async () => {
  const session = await openTestSession(engine, [], never);
  const controller = new AbortController();
  const slow = session.run(
    "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range = b.range * 7 + 1 OR a.range < b.range",
    controller.signal,
  );
  setTimeout(() => controller.abort(), 50);
  await assert.rejects(slow, { code: "cancelled" });
  assert.deepEqual(await session.run("SELECT 1", never), [[1]]);
  await session.close();
});

test("[QE2] sessions wait their turn, and waiting can be given up", async () => {
  const [one, two] = await Promise.all([
    openTestSession(engine, [], never),
    openTestSession(engine, [], never),
  ]);
  const controller = new AbortController();
  const waiting = openTestSession(engine, [], controller.signal);
  const other = openTestSession(engine, [], never);
  controller.abort();
  await assert.rejects(waiting, { code: "cancelled" });
  await one.close();
  const third = await other;
  assert.deepEqual(await third.run("SELECT 3", never), [[3]]);
  await two.close();
  await third.close();
});

test("[QE2] a relation that does not bind fails the session's opening, and leaves the connection as it was", async () => {
  const broken = { schema: "main", name: "broken", sql: "SELECT nothing FROM nowhere" };
  for (let round = 0; round < 3; round += 1) {
    await assert.rejects(openTestSession(engine, [numbers, broken], never), /nowhere/);
  }
  const session = await openTestSession(engine, [], never);
  await assert.rejects(session.run("SELECT * FROM numbers", never), /does not exist/);
  await session.close();
});

test("[QE2] closing the engine closes its sessions", async () => {
  const other = await startTestEngine({ connections: 1 });
  const session = await openTestSession(other.engine, [], never);
  const slow = session.run("SELECT count(*) FROM range(1000000) a, range(1000000) b", never);
  slow.catch(() => undefined);
  await other.close();
  await assert.rejects(slow, { code: "shutting_down" });
  await assert.rejects(session.close(), { code: "shutting_down" });
});
