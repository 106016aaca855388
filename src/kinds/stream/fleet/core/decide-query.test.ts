import assert from "node:assert/strict";
import { test } from "node:test";
import { away, failure, fragmentRow, queryRow, report, up, view } from "../testing/views.ts";
import { decideGone, decideQuery, type QueryDecision } from "./decide-query.ts";
import { fleetLimits, type QueryView } from "./query-view.ts";

/** Shortly: `RUNNING`, `f0 FAILED`, `redeploy -w1`, `start w1`. */
function shortly({ changes, commands }: QueryDecision): readonly string[] {
  return [
    ...changes.map((change) => {
      switch (change.kind) {
        case "fragment":
          return `${change.fragment} ${change.state}`;
        case "query":
          return change.state;
        case "redeploy":
          return ["redeploy", ...change.lostWorkers.map((lost) => `-${lost}`)].join(" ");
        case "owe":
          return `owe ${change.workerId}`;
        case "cleanedUp":
          return `clean ${change.workerId}`;
        default:
          return change.kind;
      }
    }),
    ...commands.map(({ kind, workerId, epoch }) => `${kind} ${workerId} ${epoch}`),
  ];
}

function decided(given: QueryView): readonly string[] {
  return shortly(decideQuery(given, fleetLimits));
}

const both = (state: "PENDING" | "REGISTERED" | "RUNNING") => [
  fragmentRow("f0@w1", state),
  fragmentRow("f1@w2", state),
];
const running = queryRow({ state: "RUNNING", previous_state: "DEPLOYING" });
const dropped = queryRow({
  state: "STOPPING",
  previous_state: "RUNNING",
  desired_state: "STOPPED",
  stop_mode: "HARD",
});
const terminating = queryRow({ state: "TERMINATING", previous_state: "DEPLOYING" });

const cases: readonly [name: string, given: QueryView, want: readonly string[]][] = [
  [
    "[SD10] a new query is deployed",
    view(queryRow({ state: "PENDING" }), both("PENDING"), []),
    ["DEPLOYING"],
  ],
  [
    "[SD10] fragments are registered on all workers at once",
    view(queryRow(), both("PENDING"), [up("w1"), up("w2")]),
    ["register w1 1", "register w2 1"],
  ],
  [
    "[SD10] none is started while one is not registered",
    view(
      queryRow(),
      [fragmentRow("f0@w1", "REGISTERED"), fragmentRow("f1@w2", "PENDING")],
      [up("w1", report("f0", "REGISTERED")), { ...up("w2"), isBusy: true }],
    ),
    [],
  ],
  [
    "[SD10] all are started when all are registered",
    view(queryRow(), both("REGISTERED"), [
      up("w1", report("f0", "REGISTERED")),
      up("w2", report("f1", "REGISTERED")),
    ]),
    ["start w1 1", "start w2 1"],
  ],
  [
    "[SD11] the query runs when every fragment is confirmed running",
    view(queryRow(), both("REGISTERED"), [
      up("w1", report("f0", "RUNNING")),
      up("w2", report("f1", "RUNNING")),
    ]),
    ["f0 RUNNING", "f1 RUNNING", "RUNNING"],
  ],
  [
    "[SD11] it is not yet running when one of them is",
    view(queryRow(), both("REGISTERED"), [
      up("w1", report("f0", "RUNNING")),
      up("w2", report("f1", "REGISTERED")),
    ]),
    ["f0 RUNNING"],
  ],
  [
    "[SD12] a terminal refusal ends the deployment everywhere",
    view(queryRow(), both("PENDING"), [
      up("w1"),
      { ...up("w2"), refusal: { error: failure({ retry: "never" }), retryInMs: 0 } },
    ]),
    ["TERMINATING"],
  ],
  [
    "[SD12] a transient refusal is tried again after its pause",
    view(queryRow(), both("PENDING"), [
      up("w1", report("f0", "REGISTERED")),
      { ...up("w2"), refusal: { error: failure(), retryInMs: 0 } },
    ]),
    ["f0 REGISTERED"],
  ],
  [
    "[SD12] a query that waits for a worker which refused says so first",
    view(queryRow(), both("PENDING"), [
      up("w1"),
      { ...up("w2"), refusal: { error: failure(), retryInMs: 500 } },
    ]),
    ["DEPLOYING"],
  ],
  [
    "[SD12] and then it goes on",
    view(
      queryRow({ state_reason: `w2 cannot begin yet and is asked again: ${failure().message}` }),
      both("PENDING"),
      [up("w1"), { ...up("w2"), refusal: { error: failure(), retryInMs: 500 } }],
    ),
    ["register w1 1"],
  ],
  [
    "[SD12] nothing is sent to a worker that cannot be reached",
    view(queryRow(), both("PENDING"), [up("w1"), away("w2", 1_000)]),
    ["register w1 1"],
  ],
  [
    "[SD12] what was started, under way or unknown is stopped",
    view(
      terminating,
      [fragmentRow("f0@w1", "RUNNING"), fragmentRow("f1@w2", "PENDING")],
      [up("w1", report("f0", "RUNNING")), { ...up("w2"), isBusy: true }],
    ),
    ["unregister w1 1"],
  ],
  [
    "[SD12] and then the query has failed",
    view(terminating, [fragmentRow("f0@w1", "STOPPED"), fragmentRow("f1@w2", "FAILED")], []),
    ["FAILED"],
  ],
  [
    "[SD13] a deployment that takes too long fails",
    view(queryRow(), both("PENDING"), [up("w1"), up("w2")], { reachableMs: 600_001 }),
    ["TERMINATING"],
  ],
  [
    "[SD14] a drop during the deployment stops it",
    view(queryRow({ desired_state: "STOPPED", stop_mode: "HARD" }), both("PENDING"), [
      { ...up("w1"), isBusy: true },
      up("w2"),
    ]),
    ["STOPPING"],
  ],
  [
    "[SD14] a fragment whose command is under way is not confirmed gone",
    view(dropped, both("PENDING"), [{ ...up("w1"), isBusy: true }, up("w2")]),
    ["f1 STOPPED"],
  ],
  [
    "[SD14] the row stays while a worker cannot be asked",
    view(
      dropped,
      [fragmentRow("f0@w1", "STOPPED"), fragmentRow("f1@w2", "RUNNING")],
      [up("w1"), away("w2", 100_000)],
    ),
    [],
  ],
  [
    "[SD14] the query has stopped when nothing is left of it",
    view(dropped, [fragmentRow("f0@w1", "STOPPED")], [up("w1")]),
    ["STOPPED"],
  ],
  [
    "[SD14] what has ended is forgotten by its worker first",
    view(dropped, [fragmentRow("f0@w1", "TERMINATED")], [up("w1", report("f0", "TERMINATED"))]),
    ["unregister w1 1"],
  ],
  ["[SD14] then the row goes", view(queryRow({ state: "STOPPED" }), [], []), ["remove"]],
  [
    "[SD15] a fragment of an older epoch on a worker without one is stopped",
    view(
      { ...running, epoch: 2 },
      [fragmentRow("f0@w1", "RUNNING", { epoch: 2 })],
      [up("w1", report("f0", "RUNNING", { epoch: 2 })), up("w3", report("f0", "RUNNING"))],
    ),
    ["unregister w3 1"],
  ],
  [
    "[SD16] a worker that came back without its fragment",
    view(running, both("RUNNING"), [up("w1", report("f0", "RUNNING")), up("w2")]),
    ["redeploy"],
  ],
  [
    "[SD16] a fragment that failed for a transient reason",
    view(running, both("RUNNING"), [
      up("w1", report("f0", "RUNNING")),
      up("w2", report("f1", "FAILED", { error: failure() })),
    ]),
    ["f1 FAILED", "redeploy"],
  ],
  [
    "[SD16] a worker that cannot be reached for long loses what is not pinned",
    view(running, both("RUNNING"), [up("w1", report("f0", "RUNNING")), away("w2", 10_000)]),
    ["redeploy -w2"],
  ],
  [
    "[SD16] with REPLACE_AFTER 0 it moves as soon as its worker is out of reach",
    view(running, both("RUNNING"), [up("w1", report("f0", "RUNNING")), away("w2", 0)], {
      replaceAfterMs: 0,
    }),
    ["redeploy -w2"],
  ],
  [
    "[SD16] but not at once from where it never was",
    view(
      running,
      [fragmentRow("f0@w1", "PENDING", { state_changed_at_ms: 29_500 })],
      [away("w1", 100_000)],
      { replaceAfterMs: 0 },
    ),
    ["DEPLOYING"],
  ],
  [
    "[SD16] REPLACE_AFTER may be longer than the default",
    view(running, both("RUNNING"), [up("w1", report("f0", "RUNNING")), away("w2", 20_000)], {
      replaceAfterMs: 25_000,
    }),
    ["DEPLOYING"],
  ],
  [
    "[SD16] what was placed a moment ago is not lost yet",
    view(
      running,
      [fragmentRow("f0@w1", "PENDING", { state_changed_at_ms: 25_000 })],
      [away("w1", 100_000)],
    ),
    ["DEPLOYING"],
  ],
  [
    "[SD31] a query leaves a worker that drains by reading no more",
    view(
      running,
      both("RUNNING"),
      [up("w1", report("f0", "RUNNING")), up("w2", report("f1", "RUNNING"))],
      { leaving: new Set(["w2"]) },
    ),
    ["suspend w1 1"],
  ],
  [
    "[SD31] it tells each worker once",
    view(
      running,
      both("RUNNING"),
      [
        { ...up("w1", report("f0", "RUNNING")), isDraining: true },
        up("w2", report("f1", "RUNNING")),
      ],
      { leaving: new Set(["w2"]), endingMs: 1 },
    ),
    [],
  ],
  [
    "[SD31] it leaves when its last checkpoint is recorded, and not before",
    view(
      running,
      both("RUNNING"),
      [up("w1", report("f0", "STOPPED")), up("w2", report("f1", "TERMINATED"))],
      { leaving: new Set(["w2"]), checkpoint: { isFinal: false, fault: undefined } },
    ),
    [],
  ],
  [
    "[SD23] then what is not pinned goes elsewhere",
    view(
      running,
      [fragmentRow("f0@w1", "RUNNING", { is_pinned: 1 }), fragmentRow("f1@w2", "RUNNING")],
      [up("w1", report("f0", "STOPPED")), up("w2", report("f1", "TERMINATED"))],
      { leaving: new Set(["w1", "w2"]) },
    ),
    ["redeploy -w2"],
  ],
  [
    "[SD23] what finds no other place waits in its own",
    view(
      running,
      both("RUNNING"),
      [up("w1", report("f0", "STOPPED")), up("w2", report("f1", "TERMINATED"))],
      { leaving: new Set(["w2"]), mayMove: false },
    ),
    ["redeploy"],
  ],
  [
    "[SD31] a query that does not end in time leaves without",
    view(
      running,
      both("RUNNING"),
      [
        { ...up("w1", report("f0", "RUNNING")), isDraining: true },
        up("w2", report("f1", "RUNNING")),
      ],
      { leaving: new Set(["w2"]), endingMs: 60_000 },
    ),
    ["redeploy -w2"],
  ],
  [
    "[SD31] what has ended for a drain that is over goes on from there",
    view(running, both("RUNNING"), [
      up("w1", report("f0", "STOPPED")),
      up("w2", report("f1", "TERMINATED")),
    ]),
    ["redeploy"],
  ],
  [
    "[SD23] what reads nothing yet leaves at once",
    view(
      queryRow(),
      both("REGISTERED"),
      [up("w1", report("f0", "REGISTERED")), up("w2", report("f1", "REGISTERED"))],
      { leaving: new Set(["w2"]) },
    ),
    ["redeploy -w2"],
  ],
  [
    "[SD31] what reads in part is started first",
    view(
      queryRow(),
      [fragmentRow("f0@w1", "RUNNING"), fragmentRow("f1@w2", "REGISTERED")],
      [up("w1", report("f0", "RUNNING")), up("w2", report("f1", "REGISTERED"))],
      { leaving: new Set(["w2"]) },
    ),
    ["start w2 1"],
  ],
  [
    "[SD23] a worker that drains is given nothing, and forgets what it had",
    view(
      queryRow({ epoch: 2 }),
      [
        fragmentRow("f0@w1", "PENDING", { epoch: 2, is_pinned: 1 }),
        fragmentRow("f1@w2", "PENDING", { epoch: 2 }),
      ],
      [up("w1", report("f0", "STOPPED")), up("w2", report("f1", "TERMINATED"))],
      { leaving: new Set(["w1"]) },
    ),
    ["register w2 2", "unregister w1 1"],
  ],
  [
    "[SD21] a query that has ended by itself leaves nothing",
    view(running, [fragmentRow("f0@w1", "RUNNING")], [up("w1", report("f0", "TERMINATED"))], {
      leaving: new Set(["w1"]),
    }),
    ["f0 TERMINATED", "TERMINATED"],
  ],
  [
    "[SD16] what is pinned waits for its worker",
    view(
      running,
      [fragmentRow("f0@w1", "RUNNING"), fragmentRow("f1@w2", "RUNNING", { is_pinned: 1 })],
      [up("w1", report("f0", "RUNNING")), away("w2", 100_000)],
    ),
    ["DEPLOYING"],
  ],
  [
    "[SD16] what comes back running goes on",
    view(queryRow({ previous_state: "RUNNING" }), both("RUNNING"), [
      up("w1", report("f0", "RUNNING")),
      up("w2", report("f1", "RUNNING")),
    ]),
    ["RUNNING"],
  ],
  [
    "[SD17] a query that fails owes the cleanup of whom it cannot ask",
    view(terminating, [fragmentRow("f0@w1", "RUNNING")], [away("w1", 100_000)]),
    ["f0 FAILED", "owe w1"],
  ],
  [
    "[SD17] it is done when the worker returns",
    view(
      queryRow({ state: "FAILED" }),
      [fragmentRow("f0@w1", "FAILED")],
      [up("w1", report("f0", "RUNNING"))],
      { cleanups: [{ workerId: "w1", epoch: 1 }] },
    ),
    ["unregister w1 1"],
  ],
  [
    "[SD17] and then it is owed no more",
    view(queryRow({ state: "FAILED" }), [fragmentRow("f0@w1", "FAILED")], [up("w1")], {
      cleanups: [{ workerId: "w1", epoch: 1 }],
    }),
    ["clean w1"],
  ],
  [
    "[SD17] a query with a cleanup that is owed is not removed",
    view(dropped, [fragmentRow("f0@w1", "STOPPED")], [up("w1"), away("w2", 1)], {
      cleanups: [{ workerId: "w2", epoch: 1 }],
    }),
    [],
  ],
  [
    "[SD18] a new leader takes silence for nothing",
    view(running, both("RUNNING"), [up("w1", report("f0", "RUNNING")), away("w2", 100_000)], {
      isJudged: false,
    }),
    [],
  ],
  [
    "[SD18] what runs in its epoch is not touched",
    view(running, both("RUNNING"), [
      up("w1", report("f0", "RUNNING")),
      up("w2", report("f1", "RUNNING")),
    ]),
    [],
  ],
  [
    "[SD19] the third failure in a row is the last",
    view({ ...running, failures_in_a_row: 2 }, both("RUNNING"), [
      up("w1", report("f0", "FAILED", { error: failure() })),
      up("w2", report("f1", "RUNNING")),
    ]),
    ["f0 FAILED", "TERMINATING"],
  ],
  [
    "[SD19] an edge that broke with its worker does not count",
    view({ ...running, failures_in_a_row: 2 }, both("RUNNING"), [
      up("w1", report("f0", "FAILED", { error: failure({ number: 4001 }) })),
      away("w2", 0),
    ]),
    ["f0 FAILED", "redeploy"],
  ],
  [
    "[SD21] sources that have ended end the query",
    view(running, [fragmentRow("f0@w1", "RUNNING")], [up("w1", report("f0", "TERMINATED"))]),
    ["f0 TERMINATED", "TERMINATED"],
  ],
  [
    "[SD21] a short query has been running before it has ended",
    view(queryRow(), [fragmentRow("f0@w1", "REGISTERED")], [up("w1", report("f0", "TERMINATED"))]),
    ["f0 TERMINATED", "RUNNING"],
  ],
  [
    "[SD26] what has ended is not forgotten while others run",
    view(
      running,
      [fragmentRow("f0@w1", "TERMINATED"), fragmentRow("f1@w2", "RUNNING")],
      [up("w1", report("f0", "TERMINATED")), up("w2", report("f1", "RUNNING"))],
    ),
    [],
  ],
  [
    "[SD26] a query has ended when its last checkpoint is recorded",
    view(running, [fragmentRow("f0@w1", "TERMINATED")], [up("w1", report("f0", "TERMINATED"))], {
      checkpoint: { isFinal: false, fault: undefined },
    }),
    [],
  ],
  [
    "[SD37] a soft stop waits for the last checkpoint while a worker cannot be asked",
    view(
      queryRow({
        ...{ state: "STOPPING", previous_state: "RUNNING", desired_state: "STOPPED" },
        ...{ stop_mode: "SOFT", state_changed_at_ms: 20_000 },
      }),
      [fragmentRow("f0@w1", "STOPPED")],
      [away("w1", 100)],
      { checkpoint: { isFinal: false, fault: undefined } },
    ),
    [],
  ],
  [
    "[SD24] a checkpoint that cannot be recorded begins a new epoch",
    view(running, [fragmentRow("f0@w1", "RUNNING")], [up("w1", report("f0", "RUNNING"))], {
      checkpoint: { isFinal: false, fault: failure() },
    }),
    ["redeploy"],
  ],
  [
    "[SD33] a query that failed stays until it is dropped",
    view(queryRow({ state: "FAILED" }), [fragmentRow("f0@w1", "FAILED")], [up("w1")]),
    [],
  ],
  [
    "[SD33] so does one that has ended",
    view(queryRow({ state: "TERMINATED" }), [fragmentRow("f0@w1", "TERMINATED")], [up("w1")]),
    [],
  ],
  [
    "[SD33] and then it goes",
    view(
      queryRow({ state: "FAILED", desired_state: "STOPPED", stop_mode: "HARD" }),
      [fragmentRow("f0@w1", "FAILED")],
      [up("w1")],
    ),
    ["STOPPING"],
  ],
  [
    "[SD22] a soft stop goes to the workers with sources",
    view({ ...dropped, stop_mode: "SOFT" }, both("RUNNING"), [
      up("w1", report("f0", "RUNNING")),
      up("w2", report("f1", "RUNNING")),
    ]),
    ["stopSoft w1 1"],
  ],
  [
    "[SD22] what it stopped has stopped when its worker says so",
    view({ ...dropped, stop_mode: "SOFT" }, both("RUNNING"), [
      { ...up("w1", report("f0", "STOPPED")), isDraining: true },
      up("w2", report("f1", "RUNNING")),
    ]),
    ["f0 STOPPED"],
  ],
  [
    "[SD22] it becomes a hard one after its time",
    view(
      { ...dropped, stop_mode: "SOFT" },
      both("RUNNING"),
      [
        { ...up("w1", report("f0", "RUNNING")), isDraining: true },
        up("w2", report("f1", "RUNNING")),
      ],
      { nowMs: 60_001 },
    ),
    ["unregister w1 1", "unregister w2 1"],
  ],
];
for (const [name, given, want] of cases) test(name, () => assert.deepEqual(decided(given), want));

test("[SD15] what a worker reports of a query that is gone is stopped", () => {
  const workers = [up("w1", report("f0", "RUNNING", { epoch: 7 })), up("w2")];
  assert.deepEqual(shortly(decideGone(workers)), ["unregister w1 7"]);
});

test("[SD12] the error names the worker and the cause, not its effects", () => {
  const given = view(running, both("RUNNING"), [
    up("w1", report("f0", "FAILED", { error: failure({ number: 4001, message: "edge" }) })),
    up("w2", report("f1", "FAILED", { error: failure({ number: 3014, retry: "never" }) })),
  ]);
  const last = decideQuery(given, fleetLimits).changes.at(-1);
  assert.deepEqual(last, {
    kind: "query",
    state: "TERMINATING",
    reason: "the fragment f1 failed on w2: it broke",
    error: { code: "query_failed", number: 3014, workerId: "w2" },
  });
});
