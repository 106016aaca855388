/**
 * Random interleavings of a model cluster: see `testing/model-cluster.ts` for what it checks at
 * each step.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { BoardLimits } from "./board-messages.ts";
import { ModelCluster } from "./testing/model-cluster.ts";
import { defaultBoardLimits } from "./work-board.ts";
import type { LedgerLimits } from "./work-ledger.ts";

type Operation = (cluster: ModelCluster, a: number, b: number) => void;

/** An operation that is listed several times is drawn more often. */
const progress: readonly Operation[] = [
  (cluster, a) => cluster.submit(1 + (a % 5), false),
  (cluster, a) => cluster.start(a),
  (cluster, a) => cluster.connect(a),
  (cluster, a) => cluster.connect(a),
  (cluster, a) => cluster.deliverToWorker(a),
  (cluster, a) => cluster.deliverToWorker(a),
  (cluster, a) => cluster.deliverToWorker(a),
  (cluster, a) => cluster.deliverToBoard(a),
  (cluster, a) => cluster.deliverToBoard(a),
  (cluster, a) => cluster.deliverToBoard(a),
  (cluster, a) => cluster.deliverToBoard(a),
  (cluster, a, b) => cluster.endExecution(a, b, "well"),
  (cluster, a, b) => cluster.endExecution(a, b, "well"),
  (cluster, a, b) => cluster.endExecution(a, b, "answered"),
  (cluster, a) => cluster.endFetch(a, true),
  (cluster, a) => cluster.endFetch(a, true),
  (cluster) => cluster.resync(),
];
const plainFaults: readonly Operation[] = [
  (cluster, a) => cluster.crash(a),
  (cluster, a) => cluster.boardNotices(a),
  (cluster, a) => cluster.boardNotices(a),
  (cluster, a) => cluster.workerNotices(a),
  (cluster, a) => cluster.setDraining(a, true),
  (cluster, a, b) => cluster.endExecution(a, b, "retryable"),
  (cluster, a, b) => cluster.endExecution(a, b, b % 4 === 0 ? "badly" : "retryable"),
  (cluster, a) => cluster.endFetch(a, false),
  (cluster, a, b) => cluster.dropArtifact(a, b, b % 2 === 0 ? "expired" : "evicted"),
  (cluster, a, b) => cluster.repeatReport(a, b),
  (cluster, a, b) => (b % 4 === 0 ? cluster.cancel(a) : undefined),
];
const faults: readonly Operation[] = [
  ...plainFaults,
  (cluster, a) => cluster.setDraining(a, false),
  (cluster, a) => cluster.cut(a),
  (cluster, a) => cluster.cut(a),
];
const poison: Operation = (cluster, a) => cluster.submit(1 + (a % 3), true);

const boardLimits: BoardLimits = { ...defaultBoardLimits, worksPerWorkerMax: 4 };
const ledgerLimits: LedgerLimits = { slots: 2, queueMax: 1 };

function plays(operations: readonly Operation[], maxLength: number): fc.Arbitrary<Play> {
  const move = fc.tuple(fc.nat(operations.length - 1), fc.nat(20), fc.nat(20));
  return fc.record({
    workerCount: fc.integer({ min: 1, max: 4 }),
    moves: fc.array(move, { maxLength, size: "max" }),
  });
}
interface Play {
  readonly workerCount: number;
  readonly moves: readonly (readonly [number, number, number])[];
}

function run(play: Play, operations: readonly Operation[]): ModelCluster {
  const cluster = new ModelCluster(play.workerCount, boardLimits, ledgerLimits);
  for (let index = 0; index < play.workerCount; index += 1) {
    cluster.start(index);
    cluster.connect(index);
  }
  for (const [which, a, b] of play.moves) operations[which]?.(cluster, a, b);
  return cluster;
}

test("[WC11, WC12, WC31, WC32] no work is lost or committed twice, and every query ends, under any interleaving", () => {
  const operations = [...progress, ...faults];
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(plays(operations, 250), (play) => {
      const cluster = run(play, operations);
      cluster.heal();
      for (const verdict of cluster.verdicts.values()) {
        const name = verdict ?? "none";
        assert(["done", "cancelled", "bad_sql", "query_failed", "work_poisonous"].includes(name));
        seen.set(name, (seen.get(name) ?? 0) + 1);
      }
    }),
    { numRuns: 2_000 },
  );
  // Checks that the test is not vacuous: most queries succeed, and faults occur.
  assert((seen.get("done") ?? 0) > 1_000, JSON.stringify([...seen]));
  for (const verdict of ["cancelled", "bad_sql"]) assert(seen.has(verdict), verdict);
});

test("[WC31, WC32] without failing work or cancellation every query is done, whatever happens to workers and fetches", () => {
  const operations = [
    ...progress,
    (cluster: ModelCluster, a: number) => cluster.cut(a),
    (cluster: ModelCluster, a: number) => cluster.boardNotices(a),
    (cluster: ModelCluster, a: number) => cluster.workerNotices(a),
    (cluster: ModelCluster, a: number, b: number) => cluster.setDraining(a, b % 2 === 0),
    (cluster: ModelCluster, a: number, b: number) => cluster.repeatReport(a, b),
  ];
  const lenient = { ...boardLimits, attemptsMax: 1_000, lossesMax: 1_000 };
  fc.assert(
    fc.property(plays(operations, 200), (play) => {
      const cluster = new ModelCluster(play.workerCount, lenient, ledgerLimits);
      for (const [which, a, b] of play.moves) operations[which]?.(cluster, a, b);
      cluster.heal();
      for (const verdict of cluster.verdicts.values()) assert.equal(verdict, "done");
    }),
    { numRuns: 1_000 },
  );
});

test("[WC33] a poisonous item costs at most two workers their lives", () => {
  const operations = [...progress, poison, ...plainFaults];
  let deathsMax = 0;
  let poisonousCount = 0;
  fc.assert(
    fc.property(plays(operations, 200), (play) => {
      const cluster = run(play, operations);
      cluster.heal();
      for (const [keyText, deaths] of cluster.deaths) {
        assert(deaths <= 2, `${keyText} killed ${deaths} workers`);
        deathsMax = Math.max(deathsMax, deaths);
      }
      for (const verdict of cluster.verdicts.values()) {
        if (verdict === "work_poisonous") poisonousCount += 1;
      }
    }),
    { numRuns: 1_000 },
  );
  assert.equal(deathsMax, 2);
  assert(poisonousCount > 100, `${poisonousCount} poisonous queries`);
});

test("[WC33] where links are cut too, so it is, but for deaths during an abort and drains taken back", () => {
  const operations = [...progress, poison, ...faults];
  fc.assert(
    fc.property(plays(operations, 200), (play) => {
      const cluster = run(play, operations);
      cluster.heal();
      for (const deaths of cluster.deaths.values()) assert(deaths <= 2 + cluster.hidingCount);
    }),
    { numRuns: 500 },
  );
});
