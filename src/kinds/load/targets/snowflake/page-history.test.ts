import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { beginPaging, type HistoryRow, stepPaging } from "./page-history.ts";

/** As the server does it: the latest `limit` of those that ended in the window, in no order. */
function serve(history: readonly HistoryRow[], startMs: number, endMs: number, limit: number) {
  return history
    .filter((row) => row.endMs >= startMs && row.endMs <= endMs)
    .sort((one, two) => two.endMs - one.endMs)
    .slice(0, limit)
    .reverse();
}

function readAll(history: readonly HistoryRow[], limit: number, overlapMs: number) {
  let paging = beginPaging({ startMs: 100, endMs: 200 }, "ours", { limit, overlapMs });
  const found: string[] = [];
  let pages = 0;
  while (paging.nextEndMs !== undefined) {
    pages += 1;
    assert.ok(pages <= 200, "it ends");
    const [next, fresh] = stepPaging(paging, serve(history, 100, paging.nextEndMs, limit));
    found.push(...fresh.map(({ queryId }) => queryId));
    paging = next;
  }
  return { found, isIncomplete: paging.isIncomplete };
}

const row = fc.record({
  tag: fc.constantFrom("ours", "theirs", "ours too"),
  endMs: fc.integer({ min: 90, max: 210 }),
});

test("[SF4] every query of the tag in the window is found once, in overlapping pages, or it is said that some are not", () => {
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 120 }),
      fc.integer({ min: 2, max: 30 }),
      fc.integer({ min: 0, max: 20 }),
      (rows, limit, overlapMs) => {
        const history = rows.map((each, at) => ({ ...each, queryId: `q${at}` }));
        const want = history
          .filter(({ tag, endMs }) => tag === "ours" && endMs >= 100 && endMs <= 200)
          .map(({ queryId }) => queryId);
        const { found, isIncomplete } = readAll(history, limit, overlapMs);
        assert.equal(new Set(found).size, found.length);
        assert.deepEqual(
          found.filter((id) => !want.includes(id)),
          [],
        );
        if (!isIncomplete) assert.deepEqual(new Set(found), new Set(want));
      },
    ),
    { numRuns: 300 },
  );
});

test("[SF4] one page that is not full is the last; an empty window has none", () => {
  const one = [{ queryId: "a", tag: "ours", endMs: 150 }];
  assert.deepEqual(readAll(one, 2, 5), { found: ["a"], isIncomplete: false });
  const none = beginPaging({ startMs: 2, endMs: 1 }, "ours", { limit: 2, overlapMs: 1 });
  assert.equal(none.nextEndMs, undefined);
  const crowded = Array.from({ length: 9 }, (_, at) => ({
    queryId: `q${at}`,
    tag: "ours",
    endMs: 200,
  }));
  assert.equal(readAll(crowded, 4, 5).isIncomplete, true);
});
