import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresOf } from "./figures.ts";
import { type MeasuredPhase, SeriesBook } from "./series-book.ts";

const operations = [{ name: "read", kind: "POINT_LOOKUP" }] as const;

function opsOf(book: SeriesBook, phase: MeasuredPhase): number {
  return figuresOf(book.snapshot().filter((series) => series.phase === phase)).ops;
}

for (const [name, begunMs, plannedMs, stopMs, heardMs, measured] of [
  ["heard at once", 1_000, 60_000, 4_000, 4_000, 30],
  ["heard late", 1_000, 60_000, 4_000, 5_700, 30],
  ["between two operations", 1_000, 60_000, 4_050, 5_700, 31],
  ["after the planned end", 1_000, 3_000, 4_000, 4_000, 20],
  ["before the planned end and heard after it", 1_000, 5_000, 4_000, 5_700, 30],
  ["in WARMUP", 9_000, 60_000, 4_000, 4_900, 0],
  ["in WARMUP and heard in MEASUREMENT", 4_500, 60_000, 4_000, 5_700, 0],
  ["at the beginning of MEASUREMENT", 4_000, 60_000, 4_000, 5_700, 0],
] as const) {
  test(`[LW20] a stop ${name}: what was due before it counts, and nothing else`, () => {
    const book = new SeriesBook(operations, "WARMUP");
    book.cut("MEASUREMENT", begunMs);
    book.cut("COOLDOWN", plannedMs);
    const ended = [];
    let waiting: { token: number; dueMs: number } | undefined;
    for (let dueMs = 0; dueMs < heardMs; dueMs += 100) {
      const token = book.tokenAt(dueMs);
      if (dueMs + 100 >= heardMs) {
        waiting = { token, dueMs };
        break;
      }
      const failure = dueMs % 300 === 0 ? ("timeout" as const) : undefined;
      const [responseUs, serviceUs, rowCount] = [dueMs + 1, dueMs, 2];
      book.record(token, 0, responseUs, serviceUs, failure, rowCount);
      const { phase, step } = book.pageOf(token);
      ended.push({ phase, step, operation: 0, responseUs, serviceUs, failure, rowCount, dueMs });
    }
    const told = opsOf(book, "MEASUREMENT");
    book.stopAt(stopMs);
    book.takeBack(ended.filter(({ dueMs }) => dueMs >= stopMs));
    assert.ok(waiting !== undefined);
    const token = book.settled(waiting.token, waiting.dueMs);
    book.record(token, 0, 1, 1, undefined, 2);

    const series = book.snapshot().filter(({ phase }) => phase === "MEASUREMENT");
    const { ops, errors, rows, response, failed } = figuresOf(series);
    const toMs = Math.min(stopMs, plannedMs);
    const due = ended.filter(({ dueMs }) => dueMs >= begunMs && dueMs < toMs);
    const isLast = waiting.dueMs >= begunMs && waiting.dueMs < toMs ? 1 : 0;
    assert.equal(ops, measured);
    assert.equal(ops, due.length + isLast);
    assert.equal(errors, due.filter(({ failure }) => failure !== undefined).length);
    assert.equal(rows, ops * 2);
    assert.deepEqual([response.count, failed.count], [ops - errors, errors]);
    if (told > 0) assert.equal(series.length, 1, "what was told is told again, if as nothing");
    assert.equal(book.pageOf(book.tokenAt(heardMs)).phase, "COOLDOWN");
  });
}
