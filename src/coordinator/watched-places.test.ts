import assert from "node:assert/strict";
import { test } from "node:test";
import { decideLakePlaces } from "../data/lake/index.ts";
import { watchedPlaces } from "./watched-places.ts";

const dataDir = { path: "/data", storePath: "/data/store.sqlite" };

function pathsOf(options: {
  readonly role?: "coordinator" | "query_api";
  readonly discover?: string;
  readonly store?: string;
  readonly lake?: string;
  readonly metricsDir?: string;
}): readonly string[] {
  const { role = "coordinator", discover = "store" } = options;
  const places = decideLakePlaces(options, "/data/lake");
  return watchedPlaces({ ...options, role, discover }, dataDir, places).map(({ path }) => path);
}

test("[PR13] the store and the tables are watched where an operator put them", () => {
  assert.deepEqual(pathsOf({}), ["/data", "/data/store.sqlite", "/data/lake"]);
  for (const store of ["/x/s.sqlite", "sqlite:/x/s.sqlite"]) {
    assert.deepEqual(pathsOf({ store }), ["/data", "/x/s.sqlite", "/data/lake"]);
  }
  const apart = pathsOf({ lake: "/a", metricsDir: "/b" });
  assert.deepEqual(apart, ["/data", "/data/store.sqlite", "/a", "/b"]);
  const remote = pathsOf({ store: "postgres://me@localhost/d", lake: "s3://bucket/x" });
  assert.deepEqual(remote, ["/data", "/data/lake"]);
  assert.deepEqual(pathsOf({ role: "query_api", discover: "static" }), ["/data"]);
  assert.deepEqual(pathsOf({ role: "query_api", lake: "/a" }), [
    ...["/data", "/data/store.sqlite", "/a"],
  ]);
});
