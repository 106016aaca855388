import assert from "node:assert/strict";
import { test } from "node:test";
import {
  comparePath,
  everything,
  type HistoryView,
  isComparable,
  isFiltered,
  requestOf,
  searchOf,
  viewOf,
} from "./history-view.ts";

test("[WEB60] search and filters of the runs are in the address; nonsense is left out", () => {
  const view: HistoryView = {
    text: "check out",
    status: "running",
    template: "demo",
    mode: "QPS",
    kind: "postgres",
    since: "day",
  };
  assert.deepEqual(viewOf(new URLSearchParams(searchOf(view))), view);
  assert.deepEqual(searchOf(everything), {});
  assert.equal(isFiltered(everything), false);
  const nonsense = "status=toString&mode=FAST&kind=oracle&since=all&sort=x";
  assert.deepEqual(viewOf(new URLSearchParams(nonsense)), everything);
  const asked = new URL(requestOf(view, { limit: 25, after: "7_x" }, 100_000_000), "http://c");
  assert.deepEqual(Object.fromEntries(asked.searchParams), {
    limit: "25",
    page_token: "7_x",
    search: "check out",
    status: "RUNNING,STOPPING,CANCELLING",
    template_id: "demo",
    load_mode: "QPS",
    target_kind: "postgres",
    from_ms: String(100_000_000 - 86_400_000),
  });
});

test("[WEB61] runs that measured something are compared, with the oldest as the base", () => {
  assert.equal(isComparable({ status: "CANCELLED", total_operations: 5 }), true);
  assert.equal(isComparable({ status: "FAILED", total_operations: 0 }), false);
  assert.equal(isComparable({ status: "RUNNING", total_operations: 5 }), false);
  const runs = [
    { test_id: "new", created_at_ms: 3 },
    { test_id: "a b", created_at_ms: 1 },
    { test_id: "mid", created_at_ms: 2 },
  ];
  assert.equal(comparePath(runs), "/load/compare?ids=a%20b,mid,new");
});
