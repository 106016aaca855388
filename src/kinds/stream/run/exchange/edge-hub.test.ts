import assert from "node:assert/strict";
import { test } from "node:test";
import { EdgeHub, edgePath } from "./edge-hub.ts";

const name = { query: "q", epoch: 1, exchange: 2, from: "a", to: "b" };
const frame = new Uint8Array([1]);

test("[SU23] an edge goes with its reader, and one that nobody reads with its sender", async () => {
  const hub = new EdgeHub();
  const reader = hub.receive(name);
  const far = hub.arrive(edgePath(name));
  void far.out.send(frame);
  assert.deepEqual(await reader.receive(), frame);
  far.over();
  assert.equal(hub.count, 1, "what has arrived is still to be read");
  reader.close();
  assert.equal(hub.count, 0);
  // A sender of an earlier start connects when nobody reads any more.
  const late = hub.arrive(edgePath(name));
  assert.equal(hub.count, 1);
  void late.out.send(frame);
  late.over();
  assert.equal(hub.count, 0);
  const here = hub.send(name);
  here.close();
  assert.equal(hub.count, 0);
});

test("[SU23] whoever comes first makes the edge, and a reader may come last", async () => {
  const hub = new EdgeHub();
  const far = hub.arrive(edgePath(name));
  void far.out.send(frame);
  const reader = hub.receive(name);
  far.over();
  assert.deepEqual(await reader.receive(), frame);
  far.out.close();
  assert.equal(await reader.receive(), undefined);
  reader.close();
  // The end of the old one concerns no new one of the same name.
  const next = hub.receive(name);
  far.over();
  reader.close();
  assert.equal(hub.count, 1);
  next.close();
  assert.equal(hub.count, 0);
});
